import type { PaymentView } from '@flotilla/protocol/wallet-payments'
import { expect, test } from 'vitest'
import { formatPaymentsCsv } from './format-payments-csv.ts'

const payment: PaymentView = {
  id: 'pay_1',
  agent_id: 'scout',
  run_id: null,
  chain: 'base',
  from: '0x01',
  to: '0x02',
  what: 'pay 1 of the token 0x03, which has the symbol "X"',
  tx_id: '0x04',
  state: 'confirmed',
  counted_usd: 1.5,
  given_back: false,
  approved_by: null,
  block: 7,
  note: '',
  signed_at: 0,
  ended_at: null,
}

test('a payment is a row with times of ISO 8601, and quotes are doubled in quotes', () => {
  const [head, row] = formatPaymentsCsv([payment])
  expect(head).toMatch(/^id,signed_at,.*,note$/)
  expect(row).toBe(
    'pay_1,1970-01-01T00:00:00.000Z,,scout,,base,0x01,0x02,"pay 1 of the token 0x03, which has the symbol ""X""",confirmed,1.5,false,,0x04,7,',
  )
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx'])('%j is text to a spreadsheet', (note) => {
  expect(formatPaymentsCsv([{ ...payment, note }])[1]).toMatch(/,'[=+\-@\t]\S*$/)
})
