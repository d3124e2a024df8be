package decimal

import (
	"cmp"
	"slices"

	"github.com/cockroachdb/apd/v3"
)

// minFraction is the number of fraction digits of the unit in which amounts are divided: cents.
const minFraction = 2

// Divide divides an amount in proportion to weights, which are not negative. The parts add up to the
// amount exactly. They are multiples of a cent, or of the last digit of an amount that is finer. Each
// part is rounded down, in absolute value; the units that remain go one by one to the parts that lost
// most by rounding, and among equal ones to the later. If all weights are 0, the last part is the amount.
// The amount must be a decimal that this package returned.
func Divide(amount string, weights []int64) []string {
	parts := make([]string, len(weights))
	d := read(amount)
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	if d.IsZero() || len(weights) == 0 {
		return parts
	}
	if total == 0 {
		parts[len(parts)-1] = amount
		return parts
	}
	digits := max(minFraction, -d.Exponent)
	units, ten := new(apd.BigInt).Set(&d.Coeff), apd.NewBigInt(10)
	for range digits + d.Exponent {
		units.Mul(units, ten)
	}
	for i, n := range divide(units, weights, total) {
		part := apd.NewWithBigInt(n, -digits)
		part.Negative = d.Negative
		parts[i] = plain(part)
	}
	return parts
}

// divide divides a number of units by the method of the largest remainder.
func divide(units *apd.BigInt, weights []int64, total int64) []*apd.BigInt {
	parts, lost, order := make([]*apd.BigInt, len(weights)), make([]*apd.BigInt, len(weights)), make([]int, len(weights))
	left, by, one := new(apd.BigInt).Set(units), apd.NewBigInt(total), apd.NewBigInt(1)
	for i, w := range weights {
		parts[i], lost[i], order[i] = new(apd.BigInt), new(apd.BigInt), i
		parts[i].QuoRem(new(apd.BigInt).Mul(units, apd.NewBigInt(w)), by, lost[i])
		left.Sub(left, parts[i])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(lost[b].Cmp(lost[a]), cmp.Compare(b, a)) })
	for _, i := range order { // fewer units are left than there are parts
		if left.Sign() == 0 {
			break
		}
		parts[i].Add(parts[i], one)
		left.Sub(left, one)
	}
	return parts
}
