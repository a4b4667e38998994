import Sequencer from '@jest/test-sequencer';

const STORIES = /\/test\/(chaos|profiles|fuzz)\//;
const isStory = ({ path }) => STORIES.test(path);

/**
 * Begins with the stories. Where Jest knows no times of an earlier run, on a new machine, it takes the largest file for the longest: those of
 * the stories are small, and would run alone at the end.
 */
export default class StoriesFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return [...sorted.filter(isStory), ...sorted.filter((test) => !isStory(test))];
  }
}
