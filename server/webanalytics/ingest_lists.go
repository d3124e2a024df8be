package webanalytics

import (
	"net/netip"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/internal/referral"
)

// inDataCenter reports whether an address is in the list of networks of data centers.
func (s *Service) inDataCenter(address string) bool {
	list := s.o.DataCenters.Content()
	if list == nil {
		return false
	}
	ip, err := netip.ParseAddr(address)
	return err == nil && list.Contains(ip)
}

// isSpam reports whether a referrer is in the list of referrer spam.
func (s *Service) isSpam(referrer string) bool {
	list := s.o.Spam.Content()
	if list == nil || referrer == "" {
		return false
	}
	_, found := list.Find(referral.Locate(referrer).Host)
	return found
}

// kindOf returns the kind under which a rejected event is counted: events from data centers and
// with referrer spam come from programs.
func kindOf(reason analytics.Reason) filtered.Kind {
	if reason == analytics.DataCenter || reason == analytics.ReferrerSpam {
		return filtered.Bot
	}
	return filtered.Other
}
