/** A harmless step to try. The first id is one that a double cannot hold. */
export const EXAMPLE = {
  instruction: 'the average price of my orders',
  resultType: 'number',
  name: 'orders',
  text: `[
  {"id": 9007199254740993, "price": 20.0, "status": "paid"},
  {"id": 9007199254740994, "price": 35.5, "status": "shipped"},
  {"id": 9007199254740995, "price": 48.1, "status": "paid"}
]`,
};
