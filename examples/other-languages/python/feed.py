from pathlib import Path
from licensing import call

kept = Path("feed.cursor")  # keep it in your database
cursor = kept.read_text() if kept.exists() else None
while True:
    page, _ = call("GET", "v1/events?limit=1000" + (f"&after={cursor}" if cursor else ""))
    for event in page["items"]:
        print(event["type"], event["subject"])  # your work
    if page["next"] == cursor:
        break  # nothing new: ask again in a few seconds
    cursor = page["next"]
    kept.write_text(cursor)
