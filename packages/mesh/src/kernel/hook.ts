/**
 * What modules do when another one changes something. Listeners are called in the order in which they subscribed, at
 * once: where the change is a transaction they are part of it, and one that throws takes it back.
 */
export interface Hook<Fact> {
  subscribe(listener: (fact: Fact) => void): void
  tell(fact: Fact): void
}

export function createHook<Fact>(): Hook<Fact> {
  const listeners: ((fact: Fact) => void)[] = []
  return {
    subscribe: (listener) => void listeners.push(listener),
    tell: (fact) => {
      for (const listener of listeners) listener(fact)
    },
  }
}

/** For what has happened and cannot be taken back: a listener that throws is handed to `onError`, and the rest are told. */
export function createNotice<Fact>(onError: (error: unknown, fact: Fact) => void): Hook<Fact> {
  const told = createHook<Fact>()
  return {
    subscribe: (listener) =>
      told.subscribe((fact) => {
        try {
          listener(fact)
        } catch (error) {
          onError(error, fact)
        }
      }),
    tell: told.tell,
  }
}

/** The same for what is kept in files, which no transaction spans: each listener is awaited before the next is called. */
export interface AwaitedHook<Fact> {
  subscribe(listener: (fact: Fact) => Promise<void>): void
  /** Rejects with what the first that fails rejects with; those after it are not called. */
  tell(fact: Fact): Promise<void>
}

export function createAwaitedHook<Fact>(): AwaitedHook<Fact> {
  const listeners: ((fact: Fact) => Promise<void>)[] = []
  return {
    subscribe: (listener) => void listeners.push(listener),
    tell: async (fact) => {
      for (const listener of listeners) await listener(fact)
    },
  }
}

/** A question that any module may answer with more: what all of them say, in the order in which they subscribed. */
export interface Question<Asked, Answer> {
  subscribe(answer: (asked: Asked) => readonly Answer[]): void
  ask(asked: Asked): readonly Answer[]
}

export function createQuestion<Asked, Answer>(): Question<Asked, Answer> {
  const listeners: ((asked: Asked) => readonly Answer[])[] = []
  return {
    subscribe: (answer) => void listeners.push(answer),
    ask: (asked) => listeners.flatMap((listener) => listener(asked)),
  }
}
