import { describe, expect, it } from 'vitest'
import { applyScript, chainOf, removeScript, wallRules } from './agent-firewall.ts'
import { networkNames } from './private-network.ts'

const place = { bridge: 'flt-abcdef01', gateway: '10.64.0.1', meshPorts: [8420, 8421] }

describe('network rules', () => {
  it('names fit what kernels and iptables allow', () => {
    expect(networkNames('abcdef01').bridge.length).toBeLessThanOrEqual(15)
    expect(chainOf(networkNames('abcdef01').bridge).length).toBeLessThanOrEqual(28)
  })

  it('let in replies and the API ports on the gateway, and end in a refusal', () => {
    const [ipv4] = wallRules(place)
    expect(ipv4?.rules).toEqual([
      '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
      '-d 10.64.0.1 -p tcp --dport 8420 -j ACCEPT',
      '-d 10.64.0.1 -p tcp --dport 8421 -j ACCEPT',
      '-j REJECT --reject-with icmp-admin-prohibited',
    ])
  })

  it('network rules drop all IPv6 from the bridge', () => {
    expect(wallRules(place).find((rules) => rules.tool === 'ip6tables')?.rules).toEqual(['-j DROP'])
  })

  it('refuse traffic that is not forwarded, and drop the rest', () => {
    const script = applyScript(place)
    for (const chain of ['FORWARD', 'DOCKER-USER']) {
      const into = (rule: string) => script.indexOf(`-I ${chain} 1 ${rule}`)
      // Each rule is inserted at the front, so the last one is matched first.
      expect(into('-i flt-abcdef01 -j DROP')).toBeGreaterThan(0)
      expect(into('-i flt-abcdef01 -j REJECT')).toBeGreaterThan(into('-i flt-abcdef01 -j DROP'))
      expect(into('-o flt-abcdef01 -j DROP')).toBeGreaterThan(0)
    }
  })

  it('network rules replace the chain in one commit, so that it is never empty', () => {
    const script = applyScript(place)
    expect(script).toContain('iptables-restore -w 5 --noflush')
    expect(script).not.toMatch(/iptables -w 5 -F/)
  })

  it('rules remove every hook that they added', () => {
    const removed = removeScript(place.bridge)
    for (const { tool, hooks } of wallRules(place)) {
      for (const hook of hooks) expect(removed).toContain(`${tool} -w 5 -D ${hook.chain} ${hook.rule}`)
    }
  })
})
