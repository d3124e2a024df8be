package referral

import "strings"

// The channels. The rules are those of Google Analytics' default channel group, plus AI assistants
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

// channelOf returns the channel of an origin and a campaign. referred reports whether there is a
// referrer.
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

// paidChannel returns the channel of paid traffic, or "" if nothing indicates that it was paid for.
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

// mediumChannels are the channels that a medium determines by itself.
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
