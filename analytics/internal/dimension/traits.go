package dimension

import "github.com/onefold/onefold/internal/referral"

// Traits are the texts of an event that describe its visitor and where the visitor came from. A
// visit has those of its first event.
type Traits struct {
	referral.Source
	Client
}

// Client describes a visitor's device and location. The JSON names and limits are those of imported
// events.
type Client struct {
	Country  string `dynamodbav:"country,omitempty" json:"country,omitempty" maxLength:"64"` // ISO 3166-1 alpha-2
	Region   string `dynamodbav:"region,omitempty" json:"region,omitempty" maxLength:"256"`
	City     string `dynamodbav:"city,omitempty" json:"city,omitempty" maxLength:"256"`
	Browser  string `dynamodbav:"browser,omitempty" json:"browser,omitempty" maxLength:"64"`
	OS       string `dynamodbav:"os,omitempty" json:"os,omitempty" maxLength:"64"`
	Device   string `dynamodbav:"device,omitempty" json:"device,omitempty" maxLength:"64"`
	Screen   string `dynamodbav:"screen,omitempty" json:"screen,omitempty" maxLength:"64"`
	Language string `dynamodbav:"lang,omitempty" json:"language,omitempty" maxLength:"64"`
}

// MaxClient is the maximum length in bytes of a text of a Client. Longer ones are cut.
const MaxClient = 64

// Map replaces each text by what f returns for it.
func (c *Client) Map(f func(string) string) {
	for _, text := range [...]*string{&c.Country, &c.Region, &c.City, &c.Browser, &c.OS, &c.Device, &c.Screen, &c.Language} {
		*text = f(*text)
	}
}

// Reported is the part of a Client that senders report with their events.
type Reported struct {
	Screen   string `json:"screen,omitempty" maxLength:"20" example:"1440x900"`
	Language string `json:"language,omitempty" maxLength:"35" example:"en-GB"`
}

// Client returns the reported texts.
func (r *Reported) Client() Client { return Client{Screen: r.Screen, Language: r.Language} }
