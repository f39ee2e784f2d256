import { operatorApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { AgentSurface } from '@flotilla/identity/http'
import type { AppliedTemplate, TemplateUses } from './template-uses.ts'

/** The operator applies templates by name, within its ceiling. */
export function templateOperatorRoutes({ bind }: AgentSurface, use: TemplateUses): void {
  bind(endpoints.templates, api.templates, async ({ caller }) => ({
    templates: [...(await use.names(caller))],
  }))
  bind(endpoints.templateApply, api.templateApply, ({ caller, params: { name }, effect }) =>
    effect({ template: name }).resumable<AppliedTemplate>((step) => use.applyNew(caller, name, step)),
  )
}
