/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * boxes: draws the boxes of detected objects.
 *
 * Parameters: int border, the width of the borders in pixels of the input;
 * float fill, 0 to 1, how much of the colour is mixed into the pixels inside.
 *
 * - the colour is a hue that depends on the label, so that objects of the same
 *   kind have the same colour: the label modulo 360, in degrees
 * - a pixel belongs to a box if its middle is inside. The border is inside the
 *   box, too. Where boxes overlap, the best one is on top
 * - border: the colour; inside: pixel + fill * (colour - pixel). Both for alpha
 *   as well, as the colour is opaque
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

/* Returns a value of 0 to 1, for a hue of 0 to 6. */
__device__ static float
boxes_channel (float hue, float middle)
{
  float distance = fabsf (hue - middle);

  distance = fminf (distance, 6.0f - distance);
  return fminf (fmaxf (2.0f - distance, 0.0f), 1.0f);
}

__device__ static VkgdrRgba
boxes_colour (unsigned int label)
{
  float hue = (float) (label % 360) / 60.0f;
  VkgdrRgba colour = { boxes_channel (hue, 0.0f), boxes_channel (hue, 2.0f),
    boxes_channel (hue, 4.0f), 1.0f };

  return colour;
}

/* Returns the distance of a pixel's middle from the nearest side, negative
 * outside of the box. */
__device__ static float
boxes_depth (const VkgdrBox &box, int x, int y)
{
  float u = (float) x + 0.5f - box.x, v = (float) y + 0.5f - box.y;

  return fminf (fminf (u, box.width - u), fminf (v, box.height - v));
}

__device__ static void
boxes_mix (VkgdrRgba &c, const VkgdrRgba &colour, float share)
{
  c.r = fmaf (share, colour.r - c.r, c.r);
  c.g = fmaf (share, colour.g - c.g, c.g);
  c.b = fmaf (share, colour.b - c.b, c.b);
  c.a = fmaf (share, colour.a - c.a, c.a);
}

__global__ void
boxes (VkgdrFrame in, VkgdrFrame out, VkgdrBoxes boxes, int border, float fill)
{
  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int x, int y) {
        for (int i = boxes.n - 1; i >= 0; i--) {
          float depth = boxes_depth (boxes.box[i], x, y);

          if (depth > 0.0f)
            boxes_mix (c, boxes_colour (boxes.box[i].label),
                depth < (float) border ? 1.0f : fill);
        }
      });
}
