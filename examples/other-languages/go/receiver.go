package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

func main() {
	var seen sync.Map // keep it in your database
	receive := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var event struct{ ID, Type, Subject string }
		isGenuine := err == nil && isGenuine(body, request.Header, os.Getenv("WEBHOOK_SECRET"))
		if !isGenuine || json.Unmarshal(body, &event) != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, isRepeat := seen.LoadOrStore(event.ID, true); !isRepeat {
			fmt.Println(event.Type, event.Subject) // note it, and do the work later
		}
		response.WriteHeader(http.StatusNoContent) // within 10 s
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", http.HandlerFunc(receive)))
}
