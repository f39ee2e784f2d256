/** Events for people and programs that watch the fleet. */

export { createEventBus } from './create-event-bus.ts'
export type { EventBus } from './event-bus.ts'
export { writtenEvent } from './written-event.ts'
export {
  createAwaitedEvent,
  createAwaitedNotice,
  createDomainEvent,
  createNotice,
  createQuestion,
} from './domain-event.ts'
export type { AwaitedEvent, DomainEvent, Question } from './domain-event.ts'
