import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { expect, test } from 'vitest'
import { workerDefaultRecord } from '../../../../identity/src/access/index.ts'
import { budgetNotices } from './budget-notices.ts'
import { permissionNotices } from './permission-notices.ts'

const known = { agents: ['operator', 'scout', 'writer'], credentials: ['github_token'] }
const noticesOf = (fields: object, agentId = 'scout') =>
  permissionNotices(agentId, permissionRecordSchema.parse(fields), known)

test('the record of a new worker has no notice', () => {
  expect(permissionNotices('scout', workerDefaultRecord, known)).toEqual([])
})

test.each<[object, RegExp]>([
  [{ can_message: ['writre'] }, /^can_message of scout: there is no agent writre; did you mean writer\?$/],
  [{ can_message: ['wri*'] }, /^can_message of scout: wri\* is read as an exact name/],
  [{ can_publish: ['alerts/*'] }, /^can_publish of scout: alerts\/\* is read as an exact name/],
  [{ can_subscribe: ['alerts?'] }, /^can_subscribe of scout/],
  [
    { allowed_apis: ['web-search'] },
    /^allowed_apis of scout: web-search is not known; did you mean web_search\?$/,
  ],
  [{ wallet_allowed_chains: ['etherium'] }, /^wallet_allowed_chains of scout: .*did you mean ethereum\?$/],
  [{ blackboard_read: ['/tasks/**'] }, /^blackboard_read of scout: \/tasks\/\*\* matches no key/],
  [{ blackboard_write: ['output/../x'] }, /^blackboard_write of scout/],
  [{ allowed_credentials: ['gitlab_*'] }, /^allowed_credentials of scout: no credential matches gitlab_\*/],
  [{ wallet_allowed_contracts: ['0x123'] }, /^wallet_allowed_contracts of scout: 0x123 is not the address/],
  [{ wallet_spend_limit_per_tx_usd: 9, wallet_spend_limit_daily_usd: 5 }, /never reached/],
])('%j has a notice', (fields, words) => {
  expect(noticesOf(fields)).toEqual([expect.stringMatching(words)])
})

test('a record of an agent that does not exist has one', () => {
  expect(noticesOf({}, 'scuot')).toEqual([expect.stringContaining('did you mean scout?')])
})

test.each<object>([
  {
    can_message: ['*', 'writer'],
    can_publish: ['*', 'alerts'],
    allowed_apis: ['*'],
    wallet_allowed_chains: ['*'],
  },
  {
    blackboard_read: ['*', '**/notes', 'output/**', 'a*b'],
    allowed_credentials: ['*', 'git*', 'GITHUB_TOKEN'],
  },
])('%j has none', (fields) => {
  expect(noticesOf(fields)).toEqual([])
})

test('a budget below one small call has a notice, and one above, or without a price, has none', () => {
  const cost = { model: 'a/b', usd: 0.02 }
  const limits = [{ name: 'the daily budget of scout', usd: 0.01 }]
  expect(budgetNotices(limits, cost)).toEqual([
    expect.stringMatching(/^the daily budget of scout is USD 0\.01.*a\/b/),
  ])
  expect(
    budgetNotices(
      [
        { name: 'a', usd: 0.02 },
        { name: 'b', usd: null },
      ],
      cost,
    ),
  ).toEqual([])
  expect(budgetNotices(limits, null)).toEqual([])
})
