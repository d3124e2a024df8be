package table

import (
	"errors"
	"fmt"
	"time"
)

// A Tier is one level of data that is rolled up into the next: raw facts into hours, hours into days, days into months.
type Tier struct {
	Name   string
	Bucket time.Duration // how much time one item of it covers; 0 for raw facts
	Keep   time.Duration // how long an item is kept after its time; 0: for ever
}

// Tiers is an order of tiers from fine to coarse, with the time that late data and roll-ups are given.
type Tiers struct {
	Tiers []Tier
	Grace time.Duration // after a bucket closes, before its roll-up is counted on; default 24 h
}

// Check refuses an order that would lose data: a tier must be kept until the bucket above it has closed and was rolled
// up, and no tier may expire before a finer one. The error joins all findings.
func (t Tiers) Check() error {
	grace := t.Grace
	if grace == 0 {
		grace = 24 * time.Hour
	}
	var problems []error
	for i, tier := range t.Tiers {
		if tier.Keep < 0 || tier.Bucket < 0 {
			problems = append(problems, fmt.Errorf("tier %s: Keep and Bucket must not be negative", tier.Name))
		}
		if i == 0 {
			continue
		}
		fine := t.Tiers[i-1]
		if tier.Bucket <= fine.Bucket {
			problems = append(problems, fmt.Errorf("tier %s covers %v, not more than the finer tier %s with %v",
				tier.Name, tier.Bucket, fine.Name, fine.Bucket))
		}
		if need := tier.Bucket + grace; fine.Keep > 0 && fine.Keep < need {
			problems = append(problems, fmt.Errorf("tier %s is kept %v, but tier %s is rolled up from it up to %v later: data would be lost; keep it at least that long",
				fine.Name, fine.Keep, tier.Name, need))
		}
		if tier.Keep > 0 && (fine.Keep == 0 || tier.Keep < fine.Keep) {
			problems = append(problems, fmt.Errorf("tier %s is kept %v, less than the finer tier %s: keep it longer",
				tier.Name, tier.Keep, fine.Name))
		}
	}
	return errors.Join(problems...)
}

type expiryOrder struct {
	name  string
	tiers Tiers
}

// ExpiryOrder makes the check of tiers a part of a schema. Where durations are configured, call Check with them too.
func ExpiryOrder(name string, tiers Tiers) Part { return expiryOrder{name, tiers} }

func (o expiryOrder) addTo(s *Schema) { s.orders = append(s.orders, o) }
