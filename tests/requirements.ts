import { authenticationClauses } from './requirements/authentication.ts'
import type { Clause, Section } from './requirements/clause.ts'
import { endpointsClauses } from './requirements/endpoints.ts'
import { errorsClauses } from './requirements/errors.ts'
import { eventsClauses } from './requirements/events.ts'
import { limitsClauses } from './requirements/limits.ts'
import { purposeClauses } from './requirements/purpose.ts'
import { resourcesClauses } from './requirements/resources.ts'
import { statesClauses } from './requirements/states.ts'
import { versioningClauses } from './requirements/versioning.ts'

/** Every clause of the specification, by section. Each id starts with the name of its section. */
export const requirementsBySection = {
  purpose: purposeClauses,
  resources: resourcesClauses,
  states: statesClauses,
  endpoints: endpointsClauses,
  authentication: authenticationClauses,
  events: eventsClauses,
  errors: errorsClauses,
  limits: limitsClauses,
  versioning: versioningClauses,
} as const satisfies { readonly [In in Section]: readonly Clause<In>[] }

/** The id of any clause; other strings are not assignable to it. */
export type ClauseId = (typeof requirementsBySection)[Section][number]['id']

export type Requirement = Clause & { readonly id: ClauseId; readonly section: Section }

/** All clauses, each with its section, in the order of the specification. */
export const requirements: readonly Requirement[] = [
  ...inSection('purpose'),
  ...inSection('resources'),
  ...inSection('states'),
  ...inSection('endpoints'),
  ...inSection('authentication'),
  ...inSection('events'),
  ...inSection('errors'),
  ...inSection('limits'),
  ...inSection('versioning'),
]

function inSection(section: Section): readonly Requirement[] {
  return requirementsBySection[section].map((clause) => ({ ...clause, section }))
}
