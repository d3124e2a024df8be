package workbench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Connection is a client with little overhead: it sends prepared requests.
type Connection struct {
	net.Conn
	in   *bufio.Reader
	body bytes.Buffer
}

// Dial connects to a server.
func Dial(address string) (*Connection, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Connection{Conn: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Ask sends a request and returns the body of the response, which is valid until the next call.
func (c *Connection) Ask(request []byte, want int) ([]byte, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	c.body.Reset()
	_, err = c.body.ReadFrom(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	if answer.StatusCode != want {
		return nil, fmt.Errorf("response with status %d: %.500s", answer.StatusCode, c.body.Bytes())
	}
	return c.body.Bytes(), nil
}

// Get requests JSON with the token that reads statistics.
func Get(client *http.Client, address, path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: response %s: %s", path, answer.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}
