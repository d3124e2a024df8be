package analytics

import (
	"net/url"
	"strings"
)

// The channels. Rules are those of Google Analytics' default channel group, with AI assistants beside them
// (https://support.google.com/analytics/answer/9756891).
const (
	ChannelDirect        = "Direct"
	ChannelSearch        = "Organic Search"
	ChannelSocial        = "Organic Social"
	ChannelVideo         = "Organic Video"
	ChannelShopping      = "Organic Shopping"
	ChannelReferral      = "Referral"
	ChannelEmail         = "Email"
	ChannelAI            = "AI Assistants"
	ChannelAffiliates    = "Affiliates"
	ChannelAudio         = "Audio"
	ChannelSMS           = "SMS"
	ChannelPush          = "Mobile Push"
	ChannelDisplay       = "Display"
	ChannelPaidSearch    = "Paid Search"
	ChannelPaidSocial    = "Paid Social"
	ChannelPaidVideo     = "Paid Video"
	ChannelPaidShopping  = "Paid Shopping"
	ChannelPaidOther     = "Paid Other"
	ChannelOtherCampaign = "Other Campaigns"
)

// location is an address taken apart as far as statistics need it.
type location struct {
	host, path, query string
}

// locate takes an address apart: of a page, with or without scheme and host, or of a referrer. Nothing is refused; what
// is no address has an odd path.
func locate(address string) (l location) {
	rest, _, _ := strings.Cut(address, "#")
	rest, l.query, _ = strings.Cut(rest, "?")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		l.host, l.path = after, ""
		if slash := strings.IndexByte(after, '/'); slash >= 0 {
			l.host, l.path = after[:slash], after[slash:]
		}
		l.host = hostName(l.host)
		return l
	}
	l.path = rest
	return l
}

// hostName is a host in lower case, without user, port and www.
func hostName(authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimPrefix(host, "www.")
}

// campaign is what the query of a landing page's address says of where the visitor came from.
type campaign struct {
	UTM
	click clickID
}

// parseCampaign reads campaign parameters. Others are not looked at, and not kept.
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
			*field = clip(unescape(value), maxUTM)
		}
	}
	return c
}

func (c *campaign) field(name string) *string {
	switch name {
	case "utm_source", "ref", "source":
		if name != "utm_source" && c.UTM.Source != "" {
			return nil // the named one counts
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
	return s // as it came: a broken escape is still a value
}

// sourceOf says where the visitor of a page came from. A referrer on the site's own domains is no source: it is a step
// within a visit.
func sourceOf(referrer string, page location, domains []string) Source {
	var s Source
	c := parseCampaign(page.query)
	s.UTM = c.UTM
	ref := locate(referrer)
	if ref.host == "" || ownHost(ref.host, page.host, domains) {
		ref = location{}
	}
	if ref.host != "" {
		s.Referrer = clip(ref.host+strings.TrimSuffix(ref.path, "/"), maxReferrer)
	}
	known := c.click.origin
	switch {
	case s.UTM.Source != "":
		known = originNamed(s.UTM.Source)
	case known.name == "" && ref.host != "":
		known = originOf(ref.host)
	}
	s.Name = clip(known.name, maxUTM)
	s.Channel = channelOf(known, c, ref.host != "")
	return s
}

// ownHost reports whether a referring host is the site's own: the page's, one of the site's domains, or below one.
func ownHost(host, page string, domains []string) bool {
	if host == page {
		return true
	}
	for _, d := range domains {
		d = strings.TrimPrefix(d, "www.")
		if below, ok := strings.CutSuffix(host, d); ok && d != "" && (below == "" || strings.HasSuffix(below, ".")) {
			return true
		}
	}
	return false
}

// channelOf sorts an origin and a campaign into a channel. referred says that there is a referrer.
func channelOf(o origin, c campaign, referred bool) string {
	medium := strings.ToLower(c.Medium)
	if ch := paidChannel(o.kind, medium, c.click.paid); ch != "" {
		return ch
	}
	if ch, ok := mediumChannels[medium]; ok {
		return ch
	}
	if ch, ok := kindChannels[o.kind]; ok {
		return ch
	}
	switch {
	case referred:
		return ChannelReferral
	case c.UTM != (UTM{}):
		return ChannelOtherCampaign
	}
	return ChannelDirect
}

// paidChannel is the channel of what was paid for; empty if nothing says that it was.
func paidChannel(k originKind, medium string, click bool) string {
	switch medium {
	case "display", "banner", "expandable", "interstitial", "cpm":
		return ChannelDisplay
	}
	paid := click || strings.Contains(medium, "cp") || medium == "ppc" || medium == "retargeting" || strings.HasPrefix(medium, "paid")
	if !paid {
		return ""
	}
	switch k {
	case kindSearch:
		return ChannelPaidSearch
	case kindSocial:
		return ChannelPaidSocial
	case kindVideo:
		return ChannelPaidVideo
	case kindShopping:
		return ChannelPaidShopping
	}
	return ChannelPaidOther
}

// mediumChannels are the channels that a medium names by itself.
var mediumChannels = map[string]string{
	"email": ChannelEmail, "e-mail": ChannelEmail, "e_mail": ChannelEmail, "newsletter": ChannelEmail,
	"social": ChannelSocial, "social-network": ChannelSocial, "social-media": ChannelSocial, "sm": ChannelSocial,
	"organic": ChannelSearch, "video": ChannelVideo, "referral": ChannelReferral, "app": ChannelReferral, "link": ChannelReferral,
	"affiliate": ChannelAffiliates, "affiliates": ChannelAffiliates, "audio": ChannelAudio, "podcast": ChannelAudio,
	"sms": ChannelSMS, "push": ChannelPush, "mobile": ChannelPush, "notification": ChannelPush,
}

var kindChannels = map[originKind]string{
	kindSearch: ChannelSearch, kindSocial: ChannelSocial, kindVideo: ChannelVideo,
	kindShopping: ChannelShopping, kindEmail: ChannelEmail, kindAI: ChannelAI,
}

// clickID is a parameter that an advertiser or network adds to the addresses that it links to.
type clickID struct {
	origin
	paid bool // the network adds it to paid links only
}

var clickIDs = map[string]clickID{
	"gclid":     {origin{"Google", kindSearch}, true},
	"gbraid":    {origin{"Google", kindSearch}, true},
	"wbraid":    {origin{"Google", kindSearch}, true},
	"msclkid":   {origin{"Bing", kindSearch}, true},
	"yclid":     {origin{"Yandex", kindSearch}, true},
	"fbclid":    {origin{"Facebook", kindSocial}, false},
	"igshid":    {origin{"Instagram", kindSocial}, false},
	"twclid":    {origin{"Twitter/X", kindSocial}, true},
	"ttclid":    {origin{"TikTok", kindVideo}, true},
	"li_fat_id": {origin{"LinkedIn", kindSocial}, true},
	"rdt_cid":   {origin{"Reddit", kindSocial}, true},
	"epik":      {origin{"Pinterest", kindSocial}, true},
	"ScCid":     {origin{"Snapchat", kindSocial}, true},
}
