import type { BudgetView } from '@flotilla/protocol/money-api'
import type { AgentBriefing } from '@flotilla/fleet/agents'
import type { Caller } from '@flotilla/identity/access'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { ProjectAgents } from './manage-project.ts'
import type { ReadProjectDeps } from './read-project.ts'
import { createProjects } from './projects.ts'
import type { Projects } from './projects.ts'
import { projectAgentRoutes, projectPeopleRoutes } from './projects.routes.ts'
import type { CollaborationKernel } from '../events/index.ts'

export type { Projects } from './projects.ts'
export type { ProjectTexts } from './project-texts.ts'

interface Needs {
  readonly agents: { readonly registry: ProjectAgents; readonly briefing: AgentBriefing }
  readonly tasks: ReadProjectDeps['tasks']
  readonly budgets: {
    setAgentProject(caller: Caller, agentId: string, project: string | null): void
    set(
      caller: Caller,
      scope: { readonly scope: 'project'; readonly id: string },
      edit: { readonly daily_usd: null; readonly monthly_usd: null },
    ): unknown
    view(caller: Caller, scope: { readonly scope: 'project'; readonly id: string }): BudgetView
  }
}

/** Wires the module for projects: members, goal, context, and data that only members can access. */
export function projectsModule(
  kernel: CollaborationKernel,
  { agents, tasks, budgets }: Needs,
): MeshModule<Projects> {
  const projects = createProjects({
    ...kernel,
    agents: agents.registry,
    tasks,
    setAgentProject: budgets.setAgentProject,
    dropBudget: (caller, id) =>
      void budgets.set(caller, { scope: 'project', id }, { daily_usd: null, monthly_usd: null }),
    budgetOf: (id) => {
      const { daily, monthly } = budgets.view({ kind: 'system' }, { scope: 'project', id })
      return {
        daily_usd: daily.limit_usd,
        monthly_usd: monthly.limit_usd,
        today_usd: daily.spent_usd,
        month_usd: monthly.spent_usd,
      }
    },
    refreshBriefings: () => {
      agents.briefing.refreshBriefings().catch((error: unknown) => {
        kernel.log.error(
          { err: error },
          'failed to refresh bootstrap files; members read the previous PROJECT.md',
        )
      })
    },
  })
  return {
    api: projects,
    routes: {
      people: (surface) => projectPeopleRoutes(surface, projects),
      agent: (surface) => projectAgentRoutes(surface, projects),
    },
  }
}
