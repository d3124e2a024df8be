package referral

import (
	"net/url"
	"strings"
)

// campaign has what the query of a landing page says about the origin of the visitor.
type campaign struct {
	UTM
	click clickID
}

// parseCampaign parses campaign parameters. Other parameters are ignored.
func parseCampaign(query string) (c campaign) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || len(name) > len("utm_campaign") {
			continue
		}
		if click, ok := clickIDs[name]; ok {
			c.click = click
			continue
		}
		if field := c.field(name); field != nil {
			*field = clip(unescape(value), MaxText)
		}
	}
	return c
}

func (c *campaign) field(name string) *string {
	switch name {
	case "utm_source", "ref", "source":
		if name != "utm_source" && c.UTM.Source != "" {
			return nil // the named value counts
		}
		return &c.UTM.Source
	case "utm_medium":
		return &c.Medium
	case "utm_campaign":
		return &c.Campaign
	case "utm_term":
		return &c.Term
	case "utm_content":
		return &c.Content
	}
	return nil
}

func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s // unchanged: a broken escape is still a value
}

// clickID is a parameter that an advertiser or network adds to links.
type clickID struct {
	origin
	paid bool // the network adds it to paid links only
}

var clickIDs = map[string]clickID{
	"gclid":     {origin{"Google", kindSearch}, true},
	"gbraid":    {origin{"Google", kindSearch}, true},
	"wbraid":    {origin{"Google", kindSearch}, true},
	"dclid":     {origin{"Google", kindSite}, true},
	"msclkid":   {origin{"Bing", kindSearch}, true},
	"yclid":     {origin{"Yandex", kindSearch}, true},
	"fbclid":    {origin{"Facebook", kindSocial}, false},
	"igshid":    {origin{"Instagram", kindSocial}, false},
	"twclid":    {origin{"Twitter/X", kindSocial}, true},
	"ttclid":    {origin{"TikTok", kindVideo}, true},
	"li_fat_id": {origin{"LinkedIn", kindSocial}, true},
	"rdt_cid":   {origin{"Reddit", kindSocial}, true},
	"qclid":     {origin{"Quora", kindSocial}, true},
	"mc_cid":    {origin{"Mailchimp", kindEmail}, false},
	"epik":      {origin{"Pinterest", kindSocial}, true},
	"ScCid":     {origin{"Snapchat", kindSocial}, true},
}
