import {
  harnessApi as api,
  harnessApprovalKind,
  harnessEndpoints as endpoints,
} from '@flotilla/protocol/harness-api'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { ApprovalDesk } from '../approvals/index.ts'
import type { Runs } from '../runs/index.ts'
import { createPermitCall } from './permit-call.ts'
import type { WorkKernel } from '../events/index.ts'

/** Creates the module that decides what harnesses ask for. */
export function harnessModule(
  kernel: WorkKernel,
  needs: {
    readonly checkEffect: CheckEffect
    readonly approvals: Pick<ApprovalDesk, 'ask' | 'ofRun' | 'addKind'>
    readonly runs: Pick<Runs, 'delivery' | 'lifecycle'>
  },
): MeshModule<null> {
  const { delivery, lifecycle } = needs.runs
  const { permit, kind } = createPermitCall({ ...kernel, ...needs, runs: { ...delivery, ...lifecycle } })
  needs.approvals.addKind(harnessApprovalKind, kind)
  return {
    api: null,
    routes: {
      // A repeated question gets the same answer and no second approval, so no call needs an idempotency key.
      agent: ({ bind }) =>
        bind(endpoints.permit, api.permit, ({ caller, body, gone }) => permit(caller, body, gone())),
    },
  }
}
