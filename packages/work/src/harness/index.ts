import { harnessApi as api, harnessEndpoints as endpoints } from '@flotilla/protocol/harness-api'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { MeshModule } from '@flotilla/identity/kernel'
import { createPermitCall } from './permit-call.ts'
import type { WorkKernel } from '../events/index.ts'

/** Creates the module that decides what harnesses ask for. */
export function harnessModule(
  kernel: WorkKernel,
  needs: { readonly checkEffect: CheckEffect },
): MeshModule<null> {
  const permitCall = createPermitCall({ ...kernel, ...needs })
  return {
    api: null,
    routes: {
      // A question: the answer changes nothing outside of the audit log, so no call needs an idempotency key.
      agent: ({ bind }) => bind(endpoints.permit, api.permit, ({ caller, body }) => permitCall(caller, body)),
    },
  }
}
