package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

var client = &http.Client{Timeout: 60 * time.Second, CheckRedirect: noRedirect}

type Problem struct{ Title, Code, Outcome, RequestID string }

func (problem *Problem) Error() string { return problem.Title }

func call(method, path string, body io.Reader, into any) (http.Header, error) {
	request, err := http.NewRequest(method, strings.TrimRight(os.Getenv("LICENSING_URL"), "/")+"/", body)
	if err != nil {
		return nil, err
	}
	if request.URL, err = request.URL.Parse(path); err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", os.Getenv("LICENSING_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
			return nil, errors.New(answer.Status) // a proxy answers: the outcome is unknown
		}
		problem := new(Problem)
		if err := json.NewDecoder(answer.Body).Decode(problem); err != nil {
			return nil, err
		}
		return nil, problem
	}
	if into == nil { // a response without content, such as 204
		return answer.Header, nil
	}
	return answer.Header, json.NewDecoder(answer.Body).Decode(into)
}
