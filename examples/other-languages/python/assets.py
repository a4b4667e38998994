import re
from licensing import call

path = "v1/enterprises/ent-harbour/assets?pageSize=5"
while path:
    page, headers = call("GET", path)
    for asset in page["items"]:
        print(asset["assetNum"])
    link = re.search('<([^>]*)>; rel="next"', headers.get("Link", ""))
    path = link and link[1]
