// Package remote opens a table on DynamoDB or on any server with the same API. It creates the SDK's
// clients.
package remote

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Location is the location of a table.
type Location struct {
	Table    string
	Region   string // "": that of the environment or the profile
	Profile  string // of the shared configuration files; "": the default
	Endpoint string // URL of a server; "": AWS
}

// Forms describes valid URLs for messages.
const Forms = "dynamodb://TABLE?region=REGION&profile=PROFILE, dynamodb+http://HOST:PORT/TABLE or dynamodb+https://HOST/TABLE"

// tableName matches valid table names of DynamoDB.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// Parse parses the URL of a table. Errors begin with bad_store.
func Parse(raw string) (Location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Location{}, fmt.Errorf("bad_store: %w; a store URL is %s", err, Forms)
	}
	var l Location
	switch u.Scheme {
	case "dynamodb":
		l.Table = u.Host
		if u.Path != "" && u.Path != "/" {
			return Location{}, fmt.Errorf("bad_store: %s has a path; a store URL is %s", raw, Forms)
		}
	case "dynamodb+http", "dynamodb+https":
		l.Table = strings.Trim(u.Path, "/")
		l.Endpoint = strings.TrimPrefix(u.Scheme, "dynamodb+") + "://" + u.Host
		if u.Hostname() == "" {
			return Location{}, fmt.Errorf("bad_store: %s names no server; a store URL is %s", raw, Forms)
		}
	default:
		return Location{}, fmt.Errorf("bad_store: %s is not a store URL: %s", raw, Forms)
	}
	if u.User != nil {
		return Location{}, fmt.Errorf("bad_store: do not put credentials in a URL, because logs show it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile")
	}
	if !tableName.MatchString(l.Table) {
		return Location{}, fmt.Errorf("bad_store: %q is not a table name, which has 3 to 255 letters, digits and _.-; a store URL is %s", l.Table, Forms)
	}
	return l, l.setQuery(u.RawQuery)
}

func (l *Location) setQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Errorf("bad_store: %w", err)
	}
	for name, values := range query {
		switch value := values[len(values)-1]; name {
		case "region":
			l.Region = value
		case "profile":
			l.Profile = value
		default:
			return fmt.Errorf("bad_store: unknown parameter %q of a store URL; use region and profile", name)
		}
	}
	return nil
}

// String returns the location as a URL.
func (l Location) String() string {
	u := url.URL{Scheme: "dynamodb", Host: l.Table}
	if scheme, host, ok := strings.Cut(l.Endpoint, "://"); ok {
		u = url.URL{Scheme: "dynamodb+" + scheme, Host: host, Path: "/" + l.Table}
	}
	query := url.Values{}
	if l.Region != "" {
		query.Set("region", l.Region)
	}
	if l.Profile != "" {
		query.Set("profile", l.Profile)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// amazon reports whether requests go to AWS, which requires valid credentials.
func (l Location) amazon() bool {
	u, err := url.Parse(l.Endpoint)
	return l.Endpoint == "" || err == nil && strings.HasSuffix(u.Hostname(), ".amazonaws.com")
}
