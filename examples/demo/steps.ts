/** One step of the demo: what is asked, and what the scripted model writes for it. */
export interface DemoStep {
  readonly title: string;
  readonly instruction: string;
  readonly resultType: string;
  readonly sources: readonly ('orders' | 'customers')[];
  readonly reply: string;
}

/** Written as models write: one with a fence and prose around it, one that reaches out, one that forgets a case. */
export const DEMO_STEPS: readonly DemoStep[] = [
  {
    title: 'A step that succeeds',
    instruction:
      'what each customer tier spent on paid and shipped orders, after discounts, shipping left out',
    resultType: 'object',
    sources: ['orders', 'customers'],
    reply: `Here is the function:

\`\`\`python
from collections import defaultdict
from decimal import Decimal, ROUND_HALF_UP

CENT = Decimal("0.01")


def compute(data):
    tier_of = {c["id"]: c["tier"] for c in data["customers"]}
    spent = defaultdict(Decimal)
    for order in data["orders"]:
        if order["status"] not in ("paid", "shipped"):
            continue
        for line in order["lines"]:
            price = Decimal(line["unit_price"]) * line["quantity"]
            price *= 1 - Decimal(str(line["discount"] or 0))
            spent[tier_of.get(order["customer_id"], "unknown")] += price
    return {tier: total.quantize(CENT, rounding=ROUND_HALF_UP) for tier, total in sorted(spent.items())}
\`\`\`
`,
  },
  {
    title: 'A function that reaches for the network',
    instruction: 'the number of orders still on their way, as the carrier sees it',
    resultType: 'integer',
    sources: ['orders'],
    reply: `import socket


def compute(data):
    carrier = socket.create_connection(("carrier.example.com", 443))
    return sum(1 for o in data["orders"] if o["shipping"]["tracking"])
`,
  },
  {
    title: 'A function that forgets the empty case',
    instruction: 'the average number of days that orders with the coupon WINTER25 took to arrive',
    resultType: 'number',
    sources: ['orders'],
    reply: `def compute(data):
    days = [
        o["shipping"]["took_days"]
        for o in data["orders"]
        if o["coupon"] == "WINTER25" and o["shipping"]["took_days"] is not None
    ]
    return sum(days) / len(days)
`,
  },
];
