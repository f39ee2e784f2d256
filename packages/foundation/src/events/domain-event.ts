/**
 * A synchronous event that one context publishes to the others. Listeners are called in the order of subscription,
 * inside the publisher's transaction if there is one; a listener that throws rolls it back.
 */
export interface DomainEvent<Fact> {
  subscribe(listener: (fact: Fact) => void): void
  publish(fact: Fact): void
}

export function createDomainEvent<Fact>(): DomainEvent<Fact> {
  const listeners: ((fact: Fact) => void)[] = []
  return {
    subscribe: (listener) => void listeners.push(listener),
    publish: (fact) => {
      for (const listener of listeners) listener(fact)
    },
  }
}

/**
 * Publishes something that has happened and cannot be undone: if a listener throws, `onError` is called and the other
 * listeners still run.
 */
export function createNotice<Fact>(onError: (error: unknown, fact: Fact) => void): DomainEvent<Fact> {
  const event = createDomainEvent<Fact>()
  return {
    subscribe: (listener) =>
      event.subscribe((fact) => {
        try {
          listener(fact)
        } catch (error) {
          onError(error, fact)
        }
      }),
    publish: event.publish,
  }
}

/**
 * The asynchronous variant for changes in files, which no transaction covers: each listener is awaited before the
 * next one is called.
 */
export interface AwaitedEvent<Fact> {
  subscribe(listener: (fact: Fact) => Promise<void>): void
  /** Rejects with the error of the first listener that fails. Only a notice calls later listeners then. */
  publish(fact: Fact): Promise<void>
}

export function createAwaitedEvent<Fact>(): AwaitedEvent<Fact> {
  const listeners: ((fact: Fact) => Promise<void>)[] = []
  return {
    subscribe: (listener) => void listeners.push(listener),
    publish: async (fact) => {
      for (const listener of listeners) await listener(fact)
    },
  }
}

/**
 * An awaited event of something that has happened and cannot be undone: every listener is called, also after one that
 * failed. `publish` then rejects with the first error.
 */
export function createAwaitedNotice<Fact>(): AwaitedEvent<Fact> {
  const listeners: ((fact: Fact) => Promise<void>)[] = []
  return {
    subscribe: (listener) => void listeners.push(listener),
    publish: async (fact) => {
      const failures: unknown[] = []
      for (const listener of listeners) {
        try {
          await listener(fact)
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}

/**
 * A question that contexts above can answer; the answers are concatenated in the order in which the contexts
 * subscribed.
 */
export interface Question<Query, Answer> {
  subscribe(answer: (query: Query) => readonly Answer[]): void
  ask(query: Query): readonly Answer[]
}

export function createQuestion<Query, Answer>(): Question<Query, Answer> {
  const listeners: ((query: Query) => readonly Answer[])[] = []
  return {
    subscribe: (answer) => void listeners.push(answer),
    ask: (query) => listeners.flatMap((listener) => listener(query)),
  }
}
