import type { PaymentView } from '@flotilla/protocol/wallet-payments'

const fields = [
  'id',
  'signed_at',
  'ended_at',
  'agent_id',
  'run_id',
  'chain',
  'from',
  'to',
  'what',
  'state',
  'counted_usd',
  'given_back',
  'approved_by',
  'tx_id',
  'block',
  'note',
] as const satisfies readonly (keyof PaymentView)[]
const times: readonly string[] = ['signed_at', 'ended_at']

/** Returns CSV lines (RFC 4180) without line ends, titles first; formulas become plain text. Pure. */
export function formatPaymentsCsv(payments: readonly PaymentView[]): readonly string[] {
  return [
    fields.join(','),
    ...payments.map((payment) => fields.map((field) => cell(payment, field)).join(',')),
  ]
}

function cell(payment: PaymentView, field: (typeof fields)[number]): string {
  const value = payment[field]
  if (value === null) return ''
  if (typeof value === 'number' && times.includes(field)) return new Date(value).toISOString()
  const text = String(value)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
