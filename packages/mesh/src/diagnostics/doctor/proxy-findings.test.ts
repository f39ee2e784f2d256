import { describe, expect, test } from 'vitest'
import { proxyFindings } from './proxy-findings.ts'

const certificates = { extraFile: null, extraFault: null, usesSystem: false }

describe('what doctor says of proxies', () => {
  test('doctor reports a direct connection if no proxy is set', () => {
    expect(proxyFindings({ proxies: [], direct: [], faults: [], certificates })).toMatchObject([
      { id: 'proxy', level: 'ok', detail: 'no proxy is set: the mesh connects directly' },
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
    const [one, other] = proxyFindings({ proxies, direct: ['.corp'], faults: [], certificates })
    expect(one).toMatchObject({
      level: 'ok',
      detail:
        'HTTPS_PROXY: http://proxy:3128 answers; connected to directly are loopback, the networks of agents, .corp, and what agents ask',
    })
    expect(other).toMatchObject({
      level: 'error',
      repair: expect.stringContaining('mend http_proxy') as unknown,
    })
  })

  test('an unreadable file of certificates is a warning', () => {
    const found = { extraFile: '/etc/corp.pem', extraFault: 'ENOENT', usesSystem: true }
    expect(proxyFindings({ proxies: [], direct: [], faults: [], certificates: found })[1]).toMatchObject({
      level: 'warning',
      detail: expect.stringContaining('/etc/corp.pem') as unknown,
    })
  })
})
