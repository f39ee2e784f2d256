import { describe, expect, test } from 'vitest'
import { proxyFindings } from './proxy-findings.ts'

const certificates = { extraFile: null, extraFault: null, usesSystem: false }
const egress = { use_proxy: false, proxy_resolves_names: false }

describe('what doctor says of proxies', () => {
  test('doctor reports a direct connection if no proxy is set', () => {
    expect(
      proxyFindings({ proxies: [], direct: [], faults: [], directFaults: [], certificates, egress }),
    ).toMatchObject([
      { id: 'proxy', level: 'ok', detail: 'no proxy is set: the mesh connects directly' },
      { id: 'egress-proxy', detail: "agents' requests, programs and browsers connect directly" },
      { id: 'certificates', level: 'ok', detail: "certificate authorities: Node's list" },
    ])
  })

  test('doctor reports a working and a failing proxy by variable, with the exempt hosts', () => {
    const proxies = [
      { name: 'HTTPS_PROXY', shown: 'http://proxy:3128', fault: null },
      {
        name: 'http_proxy',
        shown: 'http://old:80',
        fault: 'the proxy http://old:80 does not answer (ENOTFOUND)',
      },
    ]
    const [one, other] = proxyFindings({
      proxies,
      direct: ['.corp'],
      faults: [],
      directFaults: [],
      certificates,
      egress,
    })
    expect(one).toMatchObject({
      level: 'ok',
      detail:
        'HTTPS_PROXY: the proxy http://proxy:3128 answers; the mesh connects directly to loopback, the networks of agents, .corp',
    })
    expect(other).toMatchObject({
      level: 'error',
      repair: expect.stringContaining('correct http_proxy') as unknown,
    })
  })

  test('an unreadable file of certificates is a warning', () => {
    const found = { extraFile: '/etc/corp.pem', extraFault: 'ENOENT', usesSystem: true }
    expect(
      proxyFindings({
        proxies: [],
        direct: [],
        faults: [],
        directFaults: [],
        certificates: found,
        egress,
      })[2],
    ).toMatchObject({
      level: 'warning',
      detail: expect.stringContaining('/etc/corp.pem') as unknown,
    })
  })

  test.each([
    [true, false, 'go through http://proxy:3128, by checked addresses'],
    [true, true, 'go through http://proxy:3128, by name'],
    [false, true, 'connect directly (egress.use_proxy sends them through the proxy)'],
  ])('agents: use_proxy %s, proxy_resolves_names %s', (use_proxy, proxy_resolves_names, words) => {
    const proxies = [{ name: 'HTTPS_PROXY', shown: 'http://proxy:3128', fault: null }]
    const found = proxyFindings({
      proxies,
      direct: [],
      faults: [],
      directFaults: [],
      certificates: { ...certificates, extraFile: '/etc/corp.pem' },
      egress: { use_proxy, proxy_resolves_names },
    })
    expect(found[1]).toMatchObject({ id: 'egress-proxy', level: 'ok' })
    expect(found[1]?.detail).toContain(words)
    expect(found.some(({ id }) => id === 'egress-certificates')).toBe(use_proxy)
  })

  test('egress.use_proxy without a proxy is a warning with its repair', () => {
    const found = proxyFindings({
      proxies: [],
      direct: [],
      faults: [],
      directFaults: [],
      certificates,
      egress: { use_proxy: true, proxy_resolves_names: false },
    })
    expect(found[1]).toMatchObject({ id: 'egress-proxy', level: 'warning' })
  })
})
