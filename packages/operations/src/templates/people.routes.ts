import { templateEndpoints as endpoints, templatesApi as api } from '@flotilla/protocol/templates-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { TemplateUses } from './template-uses.ts'

export function templatePeopleRoutes({ bind }: PeopleSurface, use: TemplateUses): void {
  bind(endpoints.templates, api.templates, async ({ caller }) => ({ templates: await use.list(caller) }))
  bind(endpoints.template, api.template, ({ caller, params }) => use.text(caller, params.name))
  bind(endpoints.templatePlan, api.templatePlan, ({ caller, body }) => use.plan(caller, body))
  bind(endpoints.templateApplyPlan, api.templateApplyPlan, ({ caller, body }) => use.apply(caller, body))
  bind(endpoints.templateApply, api.templateApply, ({ caller, params }) => use.applyNew(caller, params.name))
  bind(endpoints.fleetExport, api.fleetExport, async ({ caller, query: { name, agents } }) => {
    const ids = agents === undefined ? null : agents.split(',').filter((id) => id !== '')
    const { text, leftOut } = await use.exportFleet(caller, { name, agents: ids })
    return { text, left_out: leftOut }
  })
}
