/** Why nothing is started, as one sentence for the person who asked for it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
