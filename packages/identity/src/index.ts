import type { FileEditor } from '@flotilla/foundation/config'
import type { IdentityEvents } from './events/index.ts'
import type { Kernel } from './kernel/index.ts'
import { peopleModule } from './people/index.ts'

export interface IdentityNeeds {
  readonly events: IdentityEvents
  readonly editor: FileEditor
  readonly peopleFile: string
}

/** Creates the modules of identity other than the kernel: the people who may use the people's API. */
export async function identityModules(kernel: Kernel, needs: IdentityNeeds) {
  const { events } = needs
  const people = await peopleModule(
    { ...kernel, identityEvents: events },
    { path: needs.peopleFile, editor: needs.editor },
  )
  return { modules: { people }, events, people: people.api }
}
