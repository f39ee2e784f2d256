import { Problem } from '@flotilla/protocol/problem'
import { stringify } from 'yaml'
import { describe, expect, test } from 'vitest'
import { createPermissionGrants } from '../access/permission-grants.ts'
import { defaultBudget } from '../agents/index.ts'
import { holdTemplate } from './hold-template.ts'
import type { StandingFleet } from './standing-fleet.ts'
import { parseTemplate } from './template-file.ts'

const grants = createPermissionGrants({ edit: () => Promise.reject(new Error('nothing is written here')) })

/** What is said of a template with that in its agent `a`, and with those projects; null where it is let through. */
function refusal(
  agent: Readonly<Record<string, unknown>>,
  projects: readonly object[] = [],
  limits: ReturnType<StandingFleet['projectLimits']> = { dailyUsd: 3, monthlyUsd: 30 },
): string | null {
  const text = stringify({
    name: 'held',
    description: 'Held.',
    projects,
    agents: [{ id: 'a', role: 'r', instructions: '', ...agent }],
  })
  const standing = { projectLimits: () => limits } as Partial<StandingFleet> as StandingFleet
  try {
    holdTemplate(parseTemplate('held', text), grants, standing)
    return null
  } catch (error) {
    return error instanceof Problem ? `${error.code}: ${error.detail}` : String(error)
  }
}

describe('what a template grants', () => {
  test.each([
    [{ can_spawn: true }, 'can_spawn'],
    [{ can_use_wallet: true }, 'can_use_wallet'],
    [{ wallet_spend_limit_daily_usd: 5 }, 'wallet_spend_limit_daily_usd'],
    [{ allowed_credentials: ['github'] }, 'allowed_credentials'],
    [{ can_route_tasks: true }, 'can_route_tasks'],
    [{ can_manage_fleet: true }, 'can_manage_fleet'],
  ])('is held to the operator’s ceiling: %j', (permissions, field) => {
    const said = refusal({ permissions })
    expect(said).toContain('unprocessable: template held, agent a: ')
    expect(said).toContain(field)
  })

  test('may be all that the operator could give, and no budget above the default', () => {
    expect(refusal({ permissions: { can_message: ['operator', 'b'], allowed_apis: ['llm'] } })).toBeNull()
    expect(refusal({})).toBeNull()
    const { dailyUsd, monthlyUsd } = defaultBudget
    const budget = { daily_usd: dailyUsd, monthly_usd: monthlyUsd }
    expect(refusal({ budget })).toBeNull()
    expect(refusal({ budget: { ...budget, daily_usd: (dailyUsd ?? 0) + 1 } })).toContain(
      'with flotilla budget a once it is there',
    )
    expect(refusal({ budget: { ...budget, monthly_usd: (monthlyUsd ?? 0) + 1 } })).toContain('monthly')
  })

  test.each(['operator', 'Operator', 'OPERATOR'])('is to no agent called %s', (id) => {
    expect(refusal({ id })).toContain('reserved-agent-id')
  })

  test('raises no budget of a project that has one, and sets one where there is none', () => {
    const project = { name: 'acme', daily_usd: 3, monthly_usd: 30 }
    expect(refusal({}, [project])).toBeNull()
    expect(refusal({}, [{ ...project, daily_usd: 2 }])).toBeNull()
    expect(refusal({}, [{ ...project, daily_usd: 4 }])).toContain('with flotilla budget project:acme')
    expect(refusal({}, [{ ...project, monthly_usd: null }])).toContain('template held, project acme')
    expect(refusal({}, [{ ...project, daily_usd: 4 }], { dailyUsd: null, monthlyUsd: null })).toBeNull()
  })
})
