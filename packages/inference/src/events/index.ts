/** The events of inference. */

export { createInferenceEvents } from './inference-events.ts'
export type { InferenceEvents, SetThing, InferenceKernel } from './inference-events.ts'
