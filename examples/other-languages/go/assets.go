package main

import (
	"fmt"
	"log"
	"regexp"
)

var next = regexp.MustCompile(`<([^>]*)>; rel="next"`)

func main() {
	path := "v1/enterprises/ent-harbour/assets?pageSize=5"
	for path != "" {
		var page struct{ Items []struct{ AssetNum string } }
		header, err := call("GET", path, nil, &page)
		if err != nil {
			log.Fatal(err)
		}
		for _, asset := range page.Items {
			fmt.Println(asset.AssetNum)
		}
		path = ""
		if link := next.FindStringSubmatch(header.Get("Link")); link != nil {
			path = link[1]
		}
	}
}
