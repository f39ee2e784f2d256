import {
  projectAgentApi,
  projectAgentEndpoints,
  projectHumanApi,
  projectHumanEndpoints,
} from '@flotilla/protocol/project-api'
import type { AgentSurface, PeopleSurface } from '@flotilla/identity/http'
import type { Projects } from './projects.ts'

export function projectAgentRoutes({ bind }: AgentSurface, projects: Projects): void {
  const [paths, api] = [projectAgentEndpoints, projectAgentApi]
  bind(paths.projects, api.projects, ({ caller }) => ({ projects: projects.list(caller) }))
  bind(paths.project, api.project, ({ caller, params }) => projects.one(caller, params.name))
  const managed = {
    needs: ({ name = '' }: Readonly<Record<string, string>>) =>
      ({ do: 'manage-projects', project: name }) as const,
  }
  bind(
    paths.projectManage,
    { ...api.projectManage, ...managed },
    ({ caller, params: { name }, body, effect }) =>
      effect({ project: name, body }).local(() => projects.manage(caller, name, body)),
  )
  bind(
    paths.projectWrite,
    { ...api.projectWrite, ...managed },
    ({ caller, params: { name }, body, effect }) => {
      const { expected_version: expectedVersion, ...rest } = body
      return effect({ project: name, body }).local(() =>
        projects.write(caller, name, { ...rest, expectedVersion }),
      )
    },
  )
}

export function projectPeopleRoutes({ bind }: PeopleSurface, projects: Projects): void {
  const [paths, api] = [projectHumanEndpoints, projectHumanApi]
  bind(paths.projects, api.projects, ({ caller }) => ({ projects: projects.list(caller) }))
  bind(paths.project, api.project, ({ caller, params }) => projects.one(caller, params.name))
  bind(paths.projectManage, api.projectManage, ({ caller, params, body }) =>
    projects.manage(caller, params.name, body),
  )
  bind(paths.projectDelete, api.projectDelete, ({ caller, params: { name } }) => {
    projects.delete(caller, name)
    return { deleted: name }
  })
  bind(paths.projectWrite, api.projectWrite, ({ caller, params, body }) => {
    const { expected_version: expectedVersion, ...rest } = body
    return projects.write(caller, params.name, { ...rest, expectedVersion })
  })
}
