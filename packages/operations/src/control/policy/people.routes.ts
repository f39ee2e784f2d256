import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { policyApi as api, policyEndpoints as endpoints } from '@flotilla/protocol/policy-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { PolicyDesk } from './policy-desk.ts'

export function policyPeopleRoutes({ bind }: PeopleSurface, policy: PolicyDesk): void {
  bind(controlEndpoints.policy, controlApi.policy, ({ caller }) => policy.view(caller))
  bind(controlEndpoints.policyExplain, controlApi.policyExplain, ({ caller, params, query }) =>
    policy.explain(caller, { ...query, agentId: params.id }),
  )
  bind(endpoints.policyTest, api.policyTest, ({ caller, body }) => policy.test(caller, body.text))
  bind(endpoints.policyStops, api.policyStops, ({ caller, query: { agent, days } }) =>
    policy.stops(caller, { agentId: agent ?? null, days }),
  )
  bind(endpoints.policyReach, api.policyReach, ({ caller, params }) =>
    policy.reach(caller, params.id, params.credential),
  )
  bind(endpoints.policyRuleAdd, api.policyRuleAdd, ({ caller, body }) => policy.add(caller, body.rule))
  bind(endpoints.pendingAlwaysRule, api.pendingAlwaysRule, ({ caller, params }) =>
    policy.always.show(caller, params.id),
  )
  bind(endpoints.pendingAlways, api.pendingAlways, ({ caller, params, body }) =>
    policy.always.confirm(caller, { ...body, id: params.id }),
  )
}
