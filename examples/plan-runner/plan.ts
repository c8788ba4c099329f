import { readFileSync } from 'node:fs';
import type { Plan, Tools } from './runner.ts';

const demoData = (name: string) => readFileSync(new URL(`../demo/${name}.json`, import.meta.url), 'utf8');

/** What a plan may call. A tool returns JSON text, which goes to the sandbox byte for byte: no digit is lost. */
export const TOOLS: Tools = {
  list_orders: async () => demoData('orders'),
  list_customers: async () => demoData('customers'),
};

/** A plan as a planner would write it: fetch, then ask what no tool answers, of the data and of earlier answers. */
export const PLAN: Plan = [
  { id: 'orders', tool: 'list_orders' },
  { id: 'customers', tool: 'list_customers' },
  {
    id: 'spent',
    compute: 'what each customer tier spent on paid and shipped orders, after discounts, shipping left out',
    result_type: 'object',
    from: ['orders', 'customers'],
  },
  {
    id: 'best',
    compute: 'the tier that spent the most',
    result_type: 'string',
    from: ['spent'],
  },
];
