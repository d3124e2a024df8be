package table

import (
	"errors"
	"fmt"
	"time"
)

// A Tier is one level of data that is rolled up into the next: raw facts into hours, hours into
// days, days into months.
type Tier struct {
	Name   string
	Bucket time.Duration // time span of one item; 0 for raw facts
	Keep   time.Duration // retention of an item after its time; 0 means forever
}

// Tiers lists tiers from fine to coarse.
type Tiers struct {
	Tiers []Tier
	Grace time.Duration // time for late data and roll-ups after a bucket closes; default 24 h
}

// Check returns an error if data would be lost. A tier must be kept until the next tier's bucket
// has closed and Grace has passed, and no tier may expire before a finer one. The error joins all
// findings.
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
			problems = append(problems, fmt.Errorf("tier %s is kept for %v, but tier %s is rolled up from it up to %v later: keep it at least that long, or data is lost",
				fine.Name, fine.Keep, tier.Name, need))
		}
		if tier.Keep > 0 && (fine.Keep == 0 || tier.Keep < fine.Keep) {
			problems = append(problems, fmt.Errorf("tier %s is kept for %v, less than the finer tier %s: keep it longer",
				tier.Name, tier.Keep, fine.Name))
		}
	}
	return errors.Join(problems...)
}

type expiryOrder struct {
	name  string
	tiers Tiers
}

// ExpiryOrder adds the check of tiers to a schema. If retention is configurable, also call Check
// with the configured values.
func ExpiryOrder(name string, tiers Tiers) Part { return expiryOrder{name, tiers} }

func (o expiryOrder) addTo(s *Schema) { s.orders = append(s.orders, o) }
