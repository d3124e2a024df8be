package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/table"
)

// DeleteDevice marks a device as deleted: from now on it is unknown to everybody, and within seconds to those who take its
// readings. Upkeep purges it. Errors: table.ErrNotFound.
func DeleteDevice(ctx context.Context, t *table.Table, deviceID string) error {
	err := ask(ctx, t, ToPurge, deviceID)
	if err == nil {
		_, err = modifyDevice(ctx, t, deviceID, func(d *Device) error {
			d.DeletedAt, d.Tokens = nowOf(t), nil
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("telemetry: delete device %q: %w", shorten(deviceID), err)
	}
	return nil
}

// Purged says what a purge did.
type Purged struct {
	Waiting bool  `json:"waiting,omitempty"` // the device was deleted a moment ago, and readings may still come: try again later
	Items   int64 `json:"items"`             // that were deleted
}

const (
	purgePage   = 500
	purgeAtOnce = 8
	maxRounds   = 12
)

// PurgeDevice deletes everything that a deleted device has, the device itself last. It may be stopped at any time and run
// again. A device that is not marked as deleted is refused. Errors: table.ErrNotFound when there is none any more.
func PurgeDevice(ctx context.Context, t *table.Table, w Folded, deviceID string) (Purged, error) {
	p := purge{t: t}
	err := p.run(ctx, w, deviceID)
	if err != nil {
		err = fmt.Errorf("telemetry: purge device %q: %w", shorten(deviceID), err)
	}
	return p.done, err
}

var errNotDeleted = errors.New("it is not deleted; that comes first")

type purge struct {
	t    *table.Table
	done Purged
}

func (p *purge) run(ctx context.Context, w Folded, deviceID string) error {
	d, err := DeviceByID.Get(ctx, p.t, DeviceIn{deviceID})
	switch {
	case err != nil:
		return err
	case d.DeletedAt.IsZero():
		return errNotDeleted
	}
	if p.done.Waiting = p.t.Now().Before(d.DeletedAt.Add(SettingsNotice)); p.done.Waiting {
		return nil
	}
	self, err := Devices.Key(d.DeviceKey)
	if err != nil {
		return err
	}
	if err := p.all(ctx, w, self); err != nil {
		return err
	}
	return Devices.Delete(ctx, p.t, d.DeviceKey)
}

// all deletes the items of a partition but for its owner's, until nothing is written there any more.
func (p *purge) all(ctx context.Context, w Folded, self table.Item) error {
	for range maxRounds {
		if err := w.Drain(ctx); err != nil {
			return fmt.Errorf("wait until everything is folded: %w", err)
		}
		before := p.done.Items
		if err := p.partition(ctx, self); err != nil {
			return err
		}
		if p.done.Items == before {
			p.done.Items++ // the owner, which is deleted next
			return nil
		}
	}
	return errors.New("its items are still being written; try again later")
}

// partition deletes the items of a partition but for its owner's.
func (p *purge) partition(ctx context.Context, self table.Item) error {
	in := &dynamodb.QueryInput{
		TableName: new(p.t.Name()), Limit: new(int32(purgePage)), ConsistentRead: new(true),
		KeyConditionExpression: new("#pk = :pk"), ProjectionExpression: new("#pk, #sk"),
		ExpressionAttributeNames:  map[string]string{"#pk": table.AttrPK, "#sk": table.AttrSK},
		ExpressionAttributeValues: table.Item{":pk": self[table.AttrPK]},
	}
	for {
		out, err := p.t.API().Query(ctx, in)
		if err != nil {
			return err
		}
		if err := p.remove(ctx, out.Items, self); err != nil {
			return err
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}

func (p *purge) remove(ctx context.Context, keys []table.Item, self table.Item) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(purgeAtOnce)
	for _, key := range keys {
		if sameKey(key, self) {
			continue
		}
		p.done.Items++
		g.Go(func() error {
			_, err := p.t.API().DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(p.t.Name()), Key: key})
			return err
		})
	}
	return g.Wait()
}

func sameKey(a, b table.Item) bool {
	x, okX := a[table.AttrSK].(*types.AttributeValueMemberS)
	y, okY := b[table.AttrSK].(*types.AttributeValueMemberS)
	return okX && okY && x.Value == y.Value
}
