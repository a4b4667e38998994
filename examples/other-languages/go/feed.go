package main

import (
	"fmt"
	"log"
	"os"
)

func main() {
	cursor, _ := os.ReadFile("feed.cursor") // keep it in your database
	for {
		path := "v1/events?limit=1000"
		if len(cursor) > 0 {
			path += "&after=" + string(cursor)
		}
		var page struct {
			Next  string
			Items []struct{ Type, Subject string }
		}
		if _, err := call("GET", path, nil, &page); err != nil {
			log.Fatal(err)
		}
		for _, event := range page.Items {
			fmt.Println(event.Type, event.Subject) // your work
		}
		if page.Next == string(cursor) {
			return // nothing new: ask again in a few seconds
		}
		cursor = []byte(page.Next)
		if err := os.WriteFile("feed.cursor", cursor, 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
