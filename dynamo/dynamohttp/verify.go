package dynamohttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	basicFormat   = "20060102T150405Z"
	maxSkew       = 15 * time.Minute // maximum difference between the signer's clock and ours
	signedService = "dynamodb"       // streams use the same service name
	terminator    = "aws4_request"
	unknownToken  = "The security token included in the request is invalid."
)

// claim is a well-formed signature whose value has not been verified yet.
type claim struct {
	signature
	at     time.Time
	parts  []string // elements of the scope: ID, date, region, service, terminator
	secret string
}

// claimOf makes all checks of a version 4 signature that do not need the body: its date and scope,
// and that the key is known. signed are the headers that the signature must cover. Errors are in
// AWS's order.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func (h *Handler) claimOf(s signature, r *http.Request, signed []string) (*claim, error) {
	at, err := s.checkDate(h.o.Clock())
	if err != nil {
		return nil, err
	}
	if err := s.checkSigned(r, signed); err != nil {
		return nil, err
	}
	if s.algorithm != algorithm {
		return nil, protocolError(codeIncomplete, "Unsupported AWS 'algorithm': '"+s.algorithm+"' (only AWS4-HMAC-SHA256 for now). ")
	}
	scope := strings.Split(strings.TrimRight(s.scope, "/"), "/")
	if err := checkScope(scope, s, at, h.o.Region); err != nil {
		return nil, err
	}
	secret, ok := h.o.Keys[scope[0]]
	if !ok {
		return nil, protocolError(codeUnrecognized, unknownToken)
	}
	return &claim{signature: s, at: at, parts: scope, secret: secret}, nil
}

// verify compares the signature with that computed for the complete request.
func (c *claim) verify(r *http.Request, body []byte) error {
	canonical := canonicalRequest(c.signature, r, body)
	hash := sha256.Sum256([]byte(canonical))
	toSign := algorithm + "\n" + c.at.Format(basicFormat) + "\n" + strings.Join(c.parts[1:], "/") + "\n" + hex.EncodeToString(hash[:])
	key := []byte("AWS4" + c.secret)
	for _, part := range c.parts[1:] {
		key = sum(key, part)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(sum(key, toSign))), []byte(c.value)) {
		return protocolError(codeInvalid, "The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n"+
			"The Canonical String for this request should have been\n'"+canonical+"'\n\nThe String-to-Sign should have been\n'"+toSign+"'\n")
	}
	return nil
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// checkDate rejects requests signed too long ago or in the future.
func (s *signature) checkDate(now time.Time) (time.Time, error) {
	at, err := time.Parse(basicFormat, s.date)
	if err != nil && !s.presigned {
		at, err = http.ParseTime(s.date)
	}
	if err != nil {
		return at, protocolError(codeIncomplete, "Date must be in ISO-8601 'basic format'. Got '"+s.date+"'. See http://en.wikipedia.org/wiki/ISO_8601")
	}
	at, now = at.UTC(), now.UTC()
	good := maxSkew
	if s.presigned {
		seconds, err := s.seconds()
		if err != nil {
			return at, err
		}
		good = time.Duration(seconds) * time.Second
	}
	if oldest := now.Add(-good); at.Before(oldest.Truncate(time.Second)) {
		return at, protocolError(codeInvalid, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - %d min.)",
			at.Format(basicFormat), oldest.Format(basicFormat), now.Format(basicFormat), int(good.Minutes())))
	}
	if newest := now.Add(maxSkew); at.After(newest) {
		return at, protocolError(codeInvalid, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 15 min.)",
			at.Format(basicFormat), newest.Format(basicFormat), now.Format(basicFormat)))
	}
	return at, nil
}

// checkSigned rejects a request whose host or target could be replaced. A presigned request may
// have the target in the query.
func (s *signature) checkSigned(r *http.Request, signed []string) error {
	for _, name := range signed {
		inQuery := s.presigned && name != "Host" && r.URL.Query().Get(name) == r.Header.Get(name)
		if !inQuery && !slices.Contains(s.headers, strings.ToLower(name)) {
			return protocolError(codeInvalid, "'"+name+"' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	return nil
}

// checkScope rejects a credential for another day, Region or service.
func checkScope(scope []string, s signature, at time.Time, region string) error {
	if len(scope) != 5 {
		return protocolError(codeIncomplete, "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '"+s.scope+"'")
	}
	var wrong []string
	if scope[2] != region {
		wrong = append(wrong, "Credential should be scoped to a valid region, not '"+scope[2]+"'. ")
	}
	if scope[3] != signedService {
		wrong = append(wrong, "Credential should be scoped to correct service: 'dynamodb'. ")
	}
	if scope[4] != terminator {
		wrong = append(wrong, "Credential should be scoped with a valid terminator: 'aws4_request', not '"+scope[4]+"'. ")
	}
	if day := at.Format("20060102"); scope[1] != day {
		wrong = append(wrong, fmt.Sprintf("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s', from '%s'.",
			scope[1], day, at.Format(basicFormat)))
	}
	if len(wrong) > 0 {
		return protocolError(codeInvalid, strings.Join(wrong, ""))
	}
	return nil
}

// canonicalRequest returns the canonical form of a request for signing.
func canonicalRequest(s signature, r *http.Request, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Method, canonicalPath(r.URL), canonicalQuery(r.URL.Query()))
	for _, name := range s.headers {
		b.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	payload := sha256.Sum256(body)
	b.WriteString("\n" + strings.Join(s.headers, ";") + "\n" + hex.EncodeToString(payload[:]))
	return b.String()
}

// headerValue returns the value of a signed header. The server removes two of them from the header
// map.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return strconv.FormatInt(r.ContentLength, 10)
	}
	values := slices.Clone(r.Header.Values(name))
	for i, v := range values {
		values[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(values, ",")
}

// canonicalPath returns the path as all services except S3 sign it: escaped once more than sent.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	return strings.ReplaceAll(escape(path), "%2F", "/")
}

// canonicalQuery returns the sorted query without the signature itself.
func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		if name == "X-Amz-Signature" {
			continue
		}
		for _, v := range values {
			pairs = append(pairs, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape is url.QueryEscape with spaces as in AWS.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
