/** What people who watch are told. */

export { createEventBus } from './create-event-bus.ts'
export type { EventBus } from './event-bus.ts'
export { writtenEvent } from './written-event.ts'
