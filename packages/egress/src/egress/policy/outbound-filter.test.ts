import { expect, test } from 'vitest'
import { defaultSettings, noProxies } from '../../../../foundation/src/config/index.ts'
import { readProxies } from '../../../../foundation/src/config/proxy-environment.ts'
import { silentLog, systemClock } from '../../../../foundation/src/platform/index.ts'
import { createCheckDestination } from './check-destination.ts'
import { createOutboundFilter } from './outbound-filter.ts'
import { createIdentityEvents } from '../../../../identity/src/events/index.ts'

async function checkPlaces(places: readonly string[], guarded: readonly number[] = []) {
  const { networks, filterAt } = createOutboundFilter(
    {
      clock: systemClock,
      identityEvents: createIdentityEvents(),
      log: silentLog,
      journal: { append: () => undefined },
      // A destination that the owner allowed for agents is not allowed for the mesh's own requests.
      settings: () => ({
        ...defaultSettings,
        egress: { ...defaultSettings.egress, allowed_private: ['127.0.0.1:9'] },
      }),
      ports: { people: 8420, agentApi: 0, proxy: 0, open: [...guarded] },
    },
    {
      runtime: { networks: async () => [] },
      engineAddresses: ['tcp://127.0.0.1:2375'],
      environment: { proxies: noProxies },
    },
  )
  await networks.refresh()
  const check = createCheckDestination(filterAt(places))
  return (host: string, port: number) => check({ host, port }, new AbortController().signal)
}

test('a request of the mesh reaches only the places given for it', async () => {
  const check = await checkPlaces(
    ['127.0.0.1:11434', '127.0.0.1:2375', '127.0.0.1:8420', '169.254.169.254:80'],
    [8420],
  )
  expect(await check('127.0.0.1', 11_434)).toEqual([{ address: '127.0.0.1', family: 4 }])
  for (const [host, port] of [
    ['127.0.0.1', 11_435],
    ['127.0.0.1', 80],
    ['127.0.0.2', 11_434],
    ['192.168.1.1', 443],
    ['203.0.113.9', 443],
    ['localhost', 11_434],
    ['127.0.0.1', 9],
    // Denied even if listed: the engine, the mesh's own listeners, cloud metadata.
    ['127.0.0.1', 2375],
    ['127.0.0.1', 8420],
    ['169.254.169.254', 80],
  ] as const) {
    await expect(check(host, port), `${host}:${port}`).rejects.toThrow(
      /may not connect|public|no setting|resolve|address/,
    )
  }
})

test('agents go through the proxy only with egress.use_proxy, and the mesh always, both by name only where set', () => {
  let egress = defaultSettings.egress
  const { filterFor, filterOfMesh } = createOutboundFilter(
    {
      clock: systemClock,
      identityEvents: createIdentityEvents(),
      log: silentLog,
      journal: { append: () => undefined },
      settings: () => ({ ...defaultSettings, egress }),
      ports: { people: 8420, agentApi: 0, proxy: 0, open: [] },
    },
    {
      runtime: { networks: async () => [] },
      engineAddresses: [],
      environment: {
        proxies: readProxies({ ALL_PROXY: 'http://proxy.corp:3128', NO_PROXY: 'direct.example' }),
      },
    },
  )
  const agent = filterFor('scout')
  const through = (filter: typeof agent, host = 'a.example') =>
    filter.proxies?.of(new URL(`https://${host}`))?.shown ?? null
  expect([through(agent), through(filterOfMesh)]).toEqual([null, 'http://proxy.corp:3128'])
  expect([agent.proxyResolvesNames, filterOfMesh.proxyResolvesNames]).toEqual([false, false])
  // A change of the settings applies to existing filters.
  egress = { ...egress, use_proxy: true, proxy_resolves_names: true }
  expect(through(agent)).toBe('http://proxy.corp:3128')
  expect([
    through(agent, 'direct.example'),
    through(agent, 'localhost'),
    through(agent, '10.64.0.1'),
  ]).toEqual([null, null, null])
  expect([agent.proxyResolvesNames, filterOfMesh.proxyResolvesNames]).toEqual([true, true])
})
