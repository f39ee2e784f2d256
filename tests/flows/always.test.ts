import { policyApi, policyEndpoints } from '@flotilla/protocol/policy-api'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownersPolicy, startAskedRequests } from '../support/asked-requests.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { addDoorToken } from '../support/own-token.ts'

type Fleet = Awaited<ReturnType<typeof startAskedRequests>>

describe('"always" at the terminal', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startAskedRequests()
  })
  afterAll(() => fleet?.stop())

  it('belongs to owners: a viewer, a member, an agent and the operator are refused, and nothing leaves', async () => {
    const { mesh } = fleet
    await fleet.submit('guarded')
    const { id, digest } = await fleet.asked('guarded')
    const tokens: Record<string, string> = {
      agent: addDoorToken(mesh.home, 'sender'),
      operator: addDoorToken(mesh.home, 'operator'),
    }
    for (const role of ['viewer', 'member'] as const) {
      const added = await mesh.call(peopleAdminEndpoints.personAdd, {
        body: { name: `a-${role}`, role, agents: ['sender'] },
      })
      tokens[role] = String(added.json()['token'])
    }
    for (const [who, token] of Object.entries(tokens)) {
      const reply = await mesh.call(policyEndpoints.pendingAlways, {
        params: { id },
        body: { digest },
        headers: { authorization: `Bearer ${token}` },
      })
      expect([who, reply.status >= 401 && reply.status <= 403]).toEqual([who, true])
      const added = await mesh.call(policyEndpoints.policyRuleAdd, {
        body: { rule: { name: 'own', match: { agent: 'sender' }, verdict: 'allow', excepts: 'orders' } },
        headers: { authorization: `Bearer ${token}` },
      })
      expect([who, added.status >= 401 && added.status <= 403]).toEqual([who, true])
    }
    expect(await fleet.policyText()).toBe(ownersPolicy)
    expect((await fleet.asked('guarded')).id).toBe(id)
    expect(fleet.arrived('guarded')).toBe(0)
  })

  it('adds the narrow rule, leaves each byte of the owner, and the same request leaves without asking', async () => {
    const at = { url: fleet.mesh.url, home: fleet.mesh.home }
    await fleet.submit('first')
    const { id } = await fleet.asked('first')
    const done = await flotilla(at, 'confirm', id, '--always', '--yes')
    expect([done.code, done.out + done.err]).toEqual([
      0,
      expect.stringContaining('Added the rule always-sender-'),
    ])
    expect(fleet.arrived('first')).toBe(1)

    const text = await fleet.policyText()
    const [before, after] = ownersPolicy.split('\ncases:') as [string, string]
    expect(text.startsWith(`${before}  - name: always-sender-`)).toBe(true)
    expect(text.endsWith(`\ncases:${after}`)).toBe(true)

    await fleet.send('first')
    expect(fleet.arrived('first')).toBe(2)
    await fleet.submit('neighbour')
    await fleet.asked('neighbour')
    expect(fleet.arrived('neighbour')).toBe(0)

    const stops = policyApi.policyStops.response.parse(
      (await fleet.mesh.call(policyEndpoints.policyStops, { query: { agent: 'sender' } })).json(),
    ).stops
    const of = (name: string) => stops.find(({ effect }) => effect.includes(`/${name} `))
    expect(of('first')).toMatchObject({ proposal: null, advice: expect.stringContaining('always-sender-') })
    expect(of('neighbour')?.proposal).not.toBe(null)
    const suggested = await flotilla(at, 'policy', 'suggest', 'sender')
    expect(suggested.out + suggested.err).toContain('allows this by now')
  })

  it('approves nothing and writes nothing while the file is invalid', async () => {
    const at = { url: fleet.mesh.url, home: fleet.mesh.home }
    await fleet.submit('broken')
    const { id } = await fleet.asked('broken')
    const valid = await fleet.policyText()
    await fleet.writePolicy(`${valid}nonsense: 1\n`)
    const refused = await flotilla(at, 'confirm', id, '--always', '--yes')
    expect(refused.code).not.toBe(0)
    expect(await fleet.policyText()).toBe(`${valid}nonsense: 1\n`)
    expect(fleet.arrived('broken')).toBe(0)
    await fleet.writePolicy(valid)
    // The mesh has not noticed by itself yet that the file is valid.
    const done = await flotilla(at, 'confirm', id, '--always', '--yes')
    expect([done.code, done.out + done.err]).toEqual([0, expect.stringContaining('Added the rule')])
    expect(fleet.arrived('broken')).toBe(1)
  })
})
