import type { Sizes, Story } from '../chaos/engine.ts';
import { Recorder } from './recorder.ts';
import { type Scene, scenes, sectionOf } from './scenes.ts';
import { Site } from './site.ts';

/** Scrapes of 15 s each: two minutes of a quiet night, ten of the break, and twenty after the repair. */
const QUIET = 8;
const BROKEN = 40;
const MENDED = 80;

/**
 * A night on call. In each scene one part breaks. The alert of the runbook has to fire on the metrics that were recorded meanwhile (by
 * promtool), its section has to lead to the cause by the console, the log and a trace, and to end the alert when the operator does what
 * it says.
 */
export const night: Story<Site, Sizes> = {
  command: 'npm run night',
  sizes: {},
  set: () => Site.open(),
  placeOf: (act) => act,
  acts: Object.fromEntries(
    scenes.map((scene) => [`${scene.alert}: ${scene.name}`, (site: Site) => play(scene, site)]),
  ),
  variants: {},
};

async function play(scene: Scene, site: Site): Promise<readonly string[]> {
  const faults: string[] = [];
  const holds = (isSo: boolean, fault: string) => void (isSo || faults.push(fault));
  const recorder = new Recorder(() => site.gateway(0).managementUrl);
  const traffic = () => Promise.all([site.read(), site.order()]);

  await recorder.record(QUIET, traffic);
  const quiet = recorder.firingAfter(recorder.scrapes);
  holds(quiet.length === 0, `before the break these fire: ${quiet.join(', ')}`);

  const logBefore = site.log().length;
  const spansBefore = site.collector.spans.length;
  await scene.breaks(site);
  await recorder.record(BROKEN, traffic);
  const firing = recorder.firingAfter(recorder.scrapes);
  holds(firing.includes(scene.alert), `fires: ${firing.join(', ') || 'nothing'}`);

  if (scene.silent !== undefined) holds(!firing.includes(scene.silent), `${scene.silent} fires`);

  const section = sectionOf(scene.alert);
  const [event, said] = scene.log;
  const isText = event.endsWith(': ');
  const lines = site
    .log()
    .slice(logBefore)
    .split('\n')
    .filter((line) => line.includes(isText ? event : `"event":"${event}"`));
  holds(
    section.includes(isText ? `\`${event}` : `\`${event}\``),
    `the section does not name the log line ${event}`,
  );
  holds(
    lines.some((line) => said.test(line)),
    `no log line ${event} says ${String(said)}, but: ${lines.at(-1) ?? 'none'}`,
  );
  const { console: wantedWords } = scene;
  if (wantedWords) {
    const attention = await site.attention();
    const seen = attention.filter(({ alert }) => alert === scene.alert);
    holds(
      seen.some(({ title, detail }) => wantedWords.test(`${title}: ${detail}`)),
      `the console says ${JSON.stringify(attention)} and not ${String(wantedWords)}`,
    );
  }
  if (scene.span) {
    const wanted = Object.entries(scene.span);
    const spans = site.collector.spans.slice(spansBefore);
    const leads = spans.some(({ attributes }) => wanted.every(([name, value]) => attributes[name] === value));
    holds(leads, `no span has ${JSON.stringify(scene.span)}`);
  }

  holds(section.includes(scene.remedy), `the section does not say "${scene.remedy}"`);
  await scene.mends(site);
  await recorder.record(MENDED, traffic);
  const after = recorder.firingAfter(recorder.scrapes);
  holds(!after.includes(scene.alert), `after the repair these fire: ${after.join(', ')}`);
  const order = await site.order();
  holds(order === 201, `after the repair an order gets ${order}`);
  return faults;
}
