package dynamohttp

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const algorithm = "AWS4-HMAC-SHA256"

// signature is the signature in a request.
type signature struct {
	algorithm string
	scope     string   // id/date/region/service/terminator
	headers   []string // names of the signed headers, in lower case, in the given order
	value     string
	date      string // in ISO 8601 basic format, or as in the Date header
	expires   string // in seconds; only in a query string
	presigned bool   // given in the query string
}

// caller is the sender of a request according to its headers: the claimed key, or the reason why it
// is rejected. The signature is verified once the body is known.
type caller struct {
	denied error
	claim  *claim // nil if there is nothing to verify
}

// callerOf rejects unsigned requests before the body is read, so that clients without a key cannot
// make the server read much. signed are the headers that the signature must cover.
func (h *Handler) callerOf(r *http.Request, signed ...string) caller {
	if h.trusting {
		return caller{}
	}
	s, err := parseSignature(r)
	if err != nil || len(h.o.Keys) == 0 {
		return caller{denied: err}
	}
	claim, err := h.claimOf(s, r, signed)
	return caller{denied: err, claim: claim}
}

// verify verifies the signature of the complete request.
func (c *caller) verify(r *http.Request, body []byte) error {
	if c.denied != nil || c.claim == nil {
		return c.denied
	}
	return c.claim.verify(r, body)
}

// parseSignature parses the Authorization header or the query string. Errors are those of AWS, in
// AWS's order.
func parseSignature(r *http.Request) (signature, error) {
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	var query url.Values
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
	}
	switch presigned := query.Has("X-Amz-Algorithm"); {
	case presigned && header != "":
		return signature{}, protocolError(codeInvalid, "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")
	case presigned:
		return inQuery(query)
	case !strings.HasPrefix(header, "AWS4-"):
		return signature{}, protocolError(codeMissingToken, "Request is missing Authentication Token")
	}
	return inHeader(r.Header, header)
}

// inQuery parses a signature in a query string.
func inQuery(query url.Values) (signature, error) {
	var missing strings.Builder
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"} {
		if query.Get(name) == "" {
			fmt.Fprintf(&missing, "AWS query-string parameters must include '%s'. ", name)
		}
	}
	if missing.Len() > 0 {
		return signature{}, protocolError(codeIncomplete, missing.String()+"Re-examine the query-string parameters.")
	}
	return signature{
		algorithm: query.Get("X-Amz-Algorithm"), scope: query.Get("X-Amz-Credential"), value: query.Get("X-Amz-Signature"),
		headers: strings.Split(query.Get("X-Amz-SignedHeaders"), ";"), date: query.Get("X-Amz-Date"), expires: query.Get("X-Amz-Expires"), presigned: true,
	}, nil
}

// inHeader parses the Authorization header.
func inHeader(h http.Header, authorization string) (signature, error) {
	fields := strings.FieldsFunc(authorization, func(c rune) bool { return c == ',' || c == ' ' })
	parts := map[string]string{}
	for _, field := range fields[1:] {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return signature{}, protocolError(codeIncomplete, fmt.Sprintf(
				"'%s' not a valid key=value pair (missing equal-sign) in Authorization header: '%s'.", field, authorization))
		}
		parts[name] = value
	}
	var missing strings.Builder
	for _, name := range []string{"Credential", "Signature", "SignedHeaders"} {
		if parts[name] == "" {
			fmt.Fprintf(&missing, "Authorization header requires '%s' parameter. ", name)
		}
	}
	date := h.Get("X-Amz-Date")
	if date == "" {
		date = h.Get("Date")
	}
	if date == "" {
		missing.WriteString("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
	}
	if missing.Len() > 0 {
		return signature{}, protocolError(codeIncomplete, missing.String()+"Authorization="+authorization)
	}
	return signature{
		algorithm: fields[0], scope: parts["Credential"], value: parts["Signature"],
		headers: strings.Split(parts["SignedHeaders"], ";"), date: date,
	}, nil
}

// seconds returns the validity of a presigned request, which AWS limits to a week.
func (s *signature) seconds() (int, error) {
	const week = 7 * 24 * 60 * 60
	n, err := strconv.Atoi(s.expires)
	if err != nil || n < 1 || n > week {
		return 0, protocolError(codeIncomplete, "X-Amz-Expires must be a number of seconds from 1 to 604800")
	}
	return n, nil
}
