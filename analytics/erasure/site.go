package erasure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
)

// saltsPage is how many salts are read at a time; a site has only a few.
const saltsPage = 500

// DeleteSite marks a site as deleted. It disappears at once, and within seconds its events are
// rejected. Purge deletes its data. Errors: table.ErrNotFound.
func DeleteSite(ctx context.Context, t *table.Table, siteID string) error {
	_, err := analytics.Sites.Modify(ctx, t, analytics.SiteKey{SiteID: siteID}, func(s *analytics.Site) error {
		if !s.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		s.DeletedAt = t.Now().UTC().Truncate(time.Millisecond)
		return nil
	})
	if err != nil {
		return fmt.Errorf("erasure: delete site %q: %w", siteID, err)
	}
	return nil
}

// DeletedSites yields the sites of an owner that are marked as deleted and not purged; "" means all
// owners.
func DeletedSites(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[analytics.Site, error] {
	return func(yield func(analytics.Site, error) bool) {
		for s, err := range analytics.EverySite(ctx, t, ownerID) {
			if (err != nil || !s.DeletedAt.IsZero()) && !yield(s, err) {
				return
			}
		}
	}
}

// Purged is the result of a purge.
type Purged struct {
	Waiting bool  // the site was deleted a moment ago and may still receive events: try again later
	Items   int64 // deleted items
}

// Purge deletes all data of a deleted site, and the site itself last. It may be interrupted at any
// time and run again. It returns an error if the site is not marked as deleted, and
// table.ErrNotFound if it does not exist.
func Purge(ctx context.Context, t *table.Table, w reconcile.Folded, siteID string) (Purged, error) {
	p := &purging{t: t}
	err := p.run(ctx, w, siteID)
	if err != nil {
		err = fmt.Errorf("erasure: purge site %q: %w", siteID, err)
	}
	return p.done, err
}

type purging struct {
	t    *table.Table
	done Purged
}

func (p *purging) run(ctx context.Context, w reconcile.Folded, siteID string) error {
	site, err := analytics.SiteByID.Get(ctx, p.t, analytics.SiteIn{SiteID: siteID})
	if err != nil {
		return err
	}
	now := p.t.Now()
	if site.DeletedAt.IsZero() {
		return errors.New("the site is not marked as deleted; call DeleteSite first")
	}
	if p.done.Waiting = now.Before(site.DeletedAt.Add(analytics.SettingsNotice)); p.done.Waiting {
		return nil
	}
	self, err := analytics.Sites.Key(site.SiteKey)
	if err != nil {
		return err
	}
	ranges := []purge.Range{purge.RestOfPartition(self)}
	for _, shard := range site.Sharding.Over(time.UnixMilli(0), now.Add(time.Hour)) {
		ranges = append(ranges, purge.Range{Partition: "SITE#" + siteID + "#SHARD#" + strconv.Itoa(shard)})
	}
	for _, verb := range []reconcile.Verb{reconcile.Verifying, reconcile.Rebuilding} {
		ranges = append(ranges, purge.Range{Partition: "FOLD#" + analytics.FoldGroup, Prefix: fmt.Sprintf("JOB#%s#%s#", verb, siteID)})
	}
	if p.done.Items, err = purge.Ranges(ctx, p.t, w.Drain, ranges...); err != nil {
		return err
	}
	p.done.Items++
	return analytics.Sites.Delete(ctx, p.t, site.SiteKey)
}

// saltLifetime is how long after its day a salt is needed for late events.
const saltLifetime = 48 * time.Hour

// Salts deletes the salts of a site that are older than two days, even if the store is late in
// deleting expired items: as long as a salt exists, its holder can match an address to a visitor
// ID.
func Salts(ctx context.Context, t *table.Table, siteID string) error {
	for s, err := range storedSalts(ctx, t, siteID) {
		if err != nil {
			return fmt.Errorf("erasure: salts of %q: %w", siteID, err)
		}
		if err := analytics.Salts.Delete(ctx, t, s); err != nil {
			return fmt.Errorf("erasure: salt of %q: %w", siteID, err)
		}
	}
	return nil
}

// storedSalts yields the salts of a site that have expired but are still stored. It uses a raw
// Query, because access patterns hide expired items.
func storedSalts(ctx context.Context, t *table.Table, siteID string) iter.Seq2[analytics.SaltKey, error] {
	return func(yield func(analytics.SaltKey, error) bool) {
		site, err := analytics.GetSite(ctx, t, siteID)
		if err != nil {
			yield(analytics.SaltKey{}, err)
			return
		}
		// Local days differ from UTC by less than a day in either direction.
		last := t.Now().Add(-saltLifetime - 48*time.Hour).UTC().Format(time.DateOnly)
		out, err := t.API().Query(ctx, &dynamodb.QueryInput{
			TableName: new(t.Name()), ConsistentRead: new(true), Limit: new(int32(saltsPage)),
			KeyConditionExpression:   new("#pk = :pk AND #sk BETWEEN :from AND :to"),
			ExpressionAttributeNames: map[string]string{"#pk": table.AttrPK, "#sk": table.AttrSK},
			ExpressionAttributeValues: table.Item{
				":pk":   &types.AttributeValueMemberS{Value: "SITE#" + site.SiteID},
				":from": &types.AttributeValueMemberS{Value: "SALT#"},
				":to":   &types.AttributeValueMemberS{Value: "SALT#" + last},
			},
		})
		if err != nil {
			yield(analytics.SaltKey{}, err)
			return
		}
		for _, it := range out.Items {
			s, err := analytics.Salts.Decode(it)
			if !yield(s.SaltKey, err) {
				return
			}
		}
	}
}
