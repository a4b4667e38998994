package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
)

type object map[string]any

type Order struct {
	State string
	Items []struct{ LicenseOrderID string }
}

func buy(number string) (order Order, err error) {
	customer := object{"customerId": "cus-harbour-default", "enterpriseGlobalId": "ent-harbour"}
	asset := object{"products": []object{{"productUri": "draft.pro", "limitConcurrent": 5}}}
	item := object{"orderType": "new_buy", "licenseType": "cloud_account", "customer": customer,
		"assets": []object{asset}}
	body, _ := json.Marshal(object{"channelCode": "crm", "channelOrderId": number, "items": []object{item}})
	_, err = call("POST", "v1/license-orders", bytes.NewReader(body), &order)
	return order, err
}

func main() {
	order, err := buy(os.Args[1])
	var problem *Problem
	if errors.As(err, &problem) {
		// unknown: ask again, under the same number
		fmt.Println(problem.Outcome, problem.Code, problem.RequestID)
	} else if err != nil {
		log.Fatal(err) // unknown too
	} else {
		fmt.Println(order.State, order.Items[0].LicenseOrderID)
	}
}
