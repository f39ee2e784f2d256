import { expect, test } from 'vitest'
import { defaultSettings } from '../../../../foundation/src/config/index.ts'
import { settingsSchema } from '../../../../foundation/src/config/settings-file.ts'
import type { KnownThings } from './setting-notices.ts'
import { settingNotices } from './setting-notices.ts'

const known: KnownThings = {
  agents: ['operator', 'scout'],
  systemNames: ['groq_api_key', 'brave_api_key', 'rpc'],
  doubtsOf: ({ host }) =>
    host.startsWith('10.') || host.startsWith('169.254.')
      ? [`${host} is refused to agents: add it to egress.allowed_private`]
      : [],
  modelFault: (model) => (/^(?:groq|local)\//.test(model) ? null : `no provider of ${model} is set up`),
  hasProxy: false,
  channels: ['telegram'],
}
const noticesOf = (settings: object, more: Partial<KnownThings> = {}) =>
  settingNotices(settingsSchema.parse(settings), { ...known, ...more })

test('the default settings have no notice', () => {
  expect(settingNotices(defaultSettings, known)).toEqual([])
})

const provider = (more: object) => ({
  providers: { groq: { kind: 'openai-compatible', base_url: 'https://api.groq.com/v1', ...more } },
})
const chain = (more: object) => ({ wallet: { chains: { base: more } } })

test.each<[object, RegExp]>([
  [{ agents: { scuot: { models: ['groq/a'] } } }, /agents\.scuot: .*did you mean scout\?/],
  [
    { egress: { allowed_hosts: { researcher: ['a.com'] } } },
    /egress\.allowed_hosts\.researcher: there is no agent/,
  ],
  [{ agents: { scout: { models: ['gorq/*'] } } }, /agents\.scout\.models: no provider/],
  [{ default_model: 'unknown/x' }, /default_model: no provider/],
  [{ embedding_model: 'unknown/x' }, /embedding_model: no provider/],
  [{ models: { heartbeat: 'unknown/x' } }, /^models\.heartbeat: no provider/],
  [{ models: { compaction: 'unknown/x' } }, /^models\.compaction: no provider/],
  [{ models: { 'groq/a': { fallback: ['unknown/x'] } } }, /models\."groq\/a"\.fallback: no provider/],
  [{ channels: { voice: { model: 'unknown/x' } } }, /channels\.voice\.model: no provider/],
  [provider({ api_key: 'gorq_api_key' }), /providers\.groq\.api_key: .*FLOTILLA_SYSTEM_GORQ_API_KEY/],
  [provider({ base_url: 'https://me:pw@a.com/v1' }), /base_url: a user name or a password/],
  [provider({ base_url: 'https://a.com/v1?key=x' }), /base_url: .*\? and # break it/],
  [
    provider({ base_url: 'https://a.com/v1/chat/completions' }),
    /base_url: the address is that of a whole endpoint/,
  ],
  [provider({ base_url: 'http://0.0.0.0:11434/v1' }), /base_url: 0\.0\.0\.0 is an address to listen on/],
  [
    { egress: { allowed_private: ['10.0.0.1:99999'] } },
    /allowed_private: 10\.0\.0\.1:99999: the port is not/,
  ],
  [{ egress: { allowed_private: ['169.254.169.254:80'] } }, /allowed_private: 169\.254\.169\.254:80: /],
  [
    { egress: { allowed_hosts: { scout: ['10.1.2.3'] } } },
    /allowed_hosts\.scout: 10\.1\.2\.3: .*allowed_private/,
  ],
  [{ egress: { dns_servers: ['1.2.3'] } }, /dns_servers: 1\.2\.3 is not the address/],
  [{ egress: { dns_servers: ['1.1.1.1:0'] } }, /dns_servers: 1\.1\.1\.1:0 is not the address/],
  [{ egress: { use_proxy: true } }, /egress\.use_proxy: no proxy is set/],
  [{ egress: { proxy_resolves_names: true } }, /egress\.proxy_resolves_names: no proxy is set/],
  [
    { web_search: { provider: 'searxng', url: 'http://10.0.0.9:8888' } },
    /web_search\.url: .*allowed_private/,
  ],
  [{ web_search: { provider: 'brave', credential: 'brvae' } }, /web_search\.credential: .*BRVAE/],
  [{ browser: { captcha: { solver_url: 'http://10.0.0.9' } } }, /captcha\.solver_url: /],
  [{ browser: { captcha: { daily_usd: 0.001, answer_usd: 0.005 } } }, /captcha\.daily_usd: 0\.001 is less/],
  [{ spawning: { per_parent: 9, fleet: 2 } }, /spawning\.per_parent: 9 is never reached/],
  [chain({ rpc_url: 'http://10.0.0.5:8545' }), /wallet\.chains\.base\.rpc_url: .*allowed_private/],
  [chain({ rpc_url: 'https://key:x@rpc.example' }), /rpc_url: a user name or a password/],
  [chain({ rpc_credential: 'rcp' }), /rpc_credential: there is no credential rcp/],
  [
    { wallet: { price_sources: [{ kind: 'kraken' }, { kind: 'kraken' }] } },
    /price_sources: 1 of different kinds/,
  ],
  [{ wallet: { spend_limit_per_tx_usd: 50, spend_limit_daily_usd: 20 } }, /per_tx_usd: 50 is never reached/],
  [
    { wallet: { allow_unsimulated: ['stake(uint256)'] } },
    /allow_unsimulated: stake\(uint256\) matches no call/,
  ],
  [
    { channels: { discord: { api_url: 'https://proxy.corp/api' } } },
    /discord\.api_url: discord is not switched on/,
  ],
  [{ channels: { webhook: { url: 'https://u:p@a.com' } } }, /channels\.webhook\.url: a user name/],
  [{ channels: { webhook: { url: 'https://a.com' } } }, /channels\.webhook\.url: webhook is not switched on/],
  [{ channels: { notices: { to: ['slack'] } } }, /channels\.notices\.to: slack is not switched on/],
  [{ channels: { notices: { to: ['telegram'], about: [] } } }, /channels\.notices\.about: the list is empty/],
  [
    { channels: { notices: { quiet_hours: { from: '22:00', to: '22:00' } } } },
    /quiet_hours: the quiet hours begin and end/,
  ],
])('%j has a notice', (settings, words) => {
  expect(noticesOf(settings)).toEqual(expect.arrayContaining([expect.stringMatching(words)]))
})

test.each<object>([
  {
    agents: { scout: { models: ['groq/*', '*'] } },
    egress: { allowed_hosts: { scout: ['*.a.com', '2606:4700::1'] } },
  },
  provider({ api_key: 'GROQ_API_KEY' }),
  { egress: { dns_servers: ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:53'] } },
  { egress: { allowed_private: ['10.0.0.1:80'], allowed_hosts: { scout: ['10.0.0.1'] } } },
  { web_search: { provider: 'brave', credential: 'brave_api_key' } },
  chain({ rpc_url: 'https://mainnet.base.org' }),
  chain({ rpc_credential: 'RPC' }),
  { wallet: { allow_unsimulated: ['base:0x1111111111111111111111111111111111111111:stake(uint256)'] } },
  { channels: { telegram: { api_url: 'https://bots.corp' }, notices: { to: ['telegram'] } } },
])('%j has none', (settings) => {
  expect(noticesOf(settings, { doubtsOf: () => [] })).toEqual([])
})

test('with a proxy, sending agents through it has no notice', () => {
  expect(noticesOf({ egress: { use_proxy: true, proxy_resolves_names: true } }, { hasProxy: true })).toEqual(
    [],
  )
})
