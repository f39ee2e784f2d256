/** Collects the answers of agents, without empty ones; at most `atOnce` agents are asked at a time. */
export async function askEach<Answer>(
  agentIds: readonly string[],
  atOnce: number,
  ask: (agentId: string) => Promise<Answer | null>,
): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Answer>()
  for (let from = 0; from < agentIds.length; from += atOnce) {
    const part = agentIds.slice(from, from + atOnce)
    await Promise.all(
      part.map(async (agentId) => {
        const answer = await ask(agentId)
        if (answer !== null) answers.set(agentId, answer)
      }),
    )
  }
  return answers
}
