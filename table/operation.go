package table

import (
	"context"
	"errors"
)

// OperationDef describes what one call of the kit's other patterns cannot: a transaction, a patch, a batch. It is for
// documents; the function that does it stays an ordinary one.
type OperationDef struct {
	ID, Question string
	Operation    string // of the API, such as TransactWriteItems
	Condition    string // in words, such as `head: currentSeqNum = n`
	Load         Load   // Items is how many it writes

	// Example does it once, on items that it makes up, so that documents show what it asks and what it takes.
	Example func(ctx context.Context, t *Table) error
}

// An Operation is a documented operation of a schema.
type Operation struct {
	core *pattern
}

// NewOperation describes an operation on an entity, and maybe others. It never fails: what is wrong is found by NewSchema.
func NewOperation[T, K any](e *Entity[T, K], d OperationDef) *Operation {
	p := &pattern{
		id: d.ID, question: d.Question, operation: d.Operation, entity: e.core, load: d.Load, fan: -1, told: d.Condition, source: caller(),
	}
	p.pkAttr, p.skAttr, p.ownPK, p.ownSK = AttrPK, AttrSK, e.core.pk, e.core.sk
	if d.Operation == "" || d.Example == nil {
		p.fail(errors.New("an operation has an Operation and an Example"))
	}
	p.seal()
	p.explainAny = func(*Table, any) ([]Request, error) { return nil, nil }
	p.runAny = func(ctx context.Context, t *Table, _ any, _ int) ([]Item, error) { return nil, d.Example(ctx, t) }
	return &Operation{core: p}
}

func (o *Operation) addTo(s *Schema) { s.addPattern(o.core) }

// documented reports whether the pattern is an Operation.
func (p *pattern) documented() bool {
	return p.operation != "Query" && p.operation != "GetItem" && p.operation != "PutItem" || p.told != ""
}
